"""Staff's view of links and of what is published. Hiding an entry takes a reason, which its workspace reads."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from unfold.decorators import action, display

from common.admin import ReadOnlyAdmin
from common.errors import Refused
from common.forms import add_refusal
from runs.models.sharing import Publication, Share
from runs.sharing.forms import ReasonForm
from runs.sharing.publishing import hide_publication, unhide_publication
from workspaces.actors import actor_of_user


@admin.register(Publication)
class PublicationAdmin(ReadOnlyAdmin):
    list_display = ["label", "publisher", "workspace", "version", "shown_state", "published_at"]
    list_filter = [("hidden_at", admin.EmptyFieldListFilter), ("withdrawn_at", admin.EmptyFieldListFilter), "published_at"]
    list_select_related = ["workspace", "version__benchmark"]
    search_fields = ["label", "publisher", "workspace__name", "version__benchmark__slug"]
    ordering = ["-id"]
    exclude = ["scores"]
    raw_id_fields = ["result", "subject"]
    readonly_fields = ["public_id"]
    actions_detail = ["hide", "unhide"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Publication]:
        return super().get_queryset(request).defer("scores", "figures", "version__manifest")  # type: ignore[no-any-return]

    @display(description="State", label={"shown": "success", "hidden": "danger", "withdrawn": "warning"})
    def shown_state(self, publication: Publication) -> tuple[str, str]:
        if publication.withdrawn_at:
            return "withdrawn", "Withdrawn"
        return ("hidden", "Hidden") if publication.hidden_at else ("shown", "Shown")

    def view_on_site(self, publication: Publication) -> str:
        return f"{reverse('runs:leaderboard', args=[publication.version.benchmark.slug])}?version={publication.version.number}"

    def has_hide_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return bool(request.user.has_perm("runs.change_publication"))

    @action(description="Hide from the leaderboard", url_path="hide", permissions=["hide"])
    def hide(self, request: HttpRequest, object_id: int) -> HttpResponse:
        publication = self._found(request, object_id)
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                hide_publication(publication, actor=actor_of_user(request.user), reason=form.cleaned_data["reason"])  # type: ignore[arg-type]
            except Refused as refused:
                add_refusal(form, refused.message, "reason")
            else:
                messages.success(request, f"{publication.label} is hidden.")
                return HttpResponseRedirect(_address(publication))
        return self._ask(request, publication, form, title=f"Hide {publication}", button="Hide it")

    @action(description="Show again", url_path="unhide", permissions=["hide"])
    def unhide(self, request: HttpRequest, object_id: int) -> HttpResponse:
        publication = self._found(request, object_id)
        if request.method == "POST":
            unhide_publication(publication, actor=actor_of_user(request.user))  # type: ignore[arg-type]
            messages.success(request, f"{publication.label} is shown again, unless it was withdrawn.")
            return HttpResponseRedirect(_address(publication))
        return self._ask(request, publication, Form(), title=f"Show {publication} again", button="Show it again")

    def _found(self, request: HttpRequest, object_id: int) -> Publication:
        found: Publication = get_object_or_404(self.get_queryset(request).select_related("workspace", "version__benchmark"), pk=object_id)
        return found

    def _ask(self, request: HttpRequest, publication: Publication, form: Form, *, title: str, button: str) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "form": form,
            "back": _address(publication),
            "button": button,
            "opts": self.opts,
        }
        return render(request, "billing/admin_grant.html", context, status=422 if form.errors else 200)


def _address(publication: Publication) -> str:
    return reverse("admin:runs_publication_change", args=[publication.pk])


@admin.register(Share)
class ShareAdmin(ReadOnlyAdmin):
    """Which links there are. No address: it is for the workspace to hand out."""

    list_display = ["public_id", "run", "shows_samples", "opened_count", "created_at", "expires_at", "revoked_at"]
    list_filter = ["shows_samples", ("revoked_at", admin.EmptyFieldListFilter), "created_at"]
    list_select_related = ["run"]
    search_fields = ["public_id", "run__public_id"]
    ordering = ["-id"]
    exclude = ["secret", "token_sha256"]
    raw_id_fields = ["run", "result"]
    readonly_fields = ["public_id"]
