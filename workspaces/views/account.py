"""The person's own page: name, address, password, workspaces; and picking the workspace to work in."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from common.errors import Refused
from common.forms import add_refusal
from common.web import is_fragment_request, page, render_page
from workspaces.actions import change_name, choose_density, create_workspace
from workspaces.actors import actor_of_user
from workspaces.forms import NameForm, WorkspaceForm
from workspaces.queries import SESSION_KEY, get_workspace_of, memberships_of_request
from workspaces.requests import PersonRequest


@require_http_methods(["GET", "POST"])
@page
def account(request: PersonRequest) -> HttpResponse:
    form = NameForm(request.POST or None, initial={"name": request.user.name})
    if request.method == "POST" and form.is_valid():
        change_name(request.user, actor=actor_of_user(request.user), name=form.cleaned_data["name"])
        messages.success(request, "Your name is saved.")
        return redirect("workspaces:account")
    return _account_page(request, form=form, status=422 if form.is_bound and form.errors else 200)


@require_POST
@page
def workspaces(request: PersonRequest) -> HttpResponse:
    """Make another workspace, and work in it."""
    form = WorkspaceForm(request.POST)
    if form.is_valid():
        try:
            made = create_workspace(request.user, actor=actor_of_user(request.user), name=form.cleaned_data["name"])
        except Refused as refused:
            add_refusal(form, refused.message)
        else:
            request.session[SESSION_KEY] = str(made.public_id)
            messages.success(request, f"“{made.name}” is made, and you are working in it.")
            return redirect("workspaces:workspace")
    return _account_page(request, form=NameForm(initial={"name": request.user.name}), workspace_form=form, status=422)


@require_POST
@page
def current(request: PersonRequest) -> HttpResponse:
    """Pick the workspace that lists and new forms begin with. It changes nothing but the session."""
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    request.session[SESSION_KEY] = str(workspace.public_id)
    return _back(request)


@require_POST
@page
def density(request: PersonRequest) -> HttpResponse:
    """Remember how close the rows of tables lie; for htmx the control as it stands now, which is all that a page needs."""
    choose_density(request.user, actor=actor_of_user(request.user), density=request.POST.get("density", ""))
    if is_fragment_request(request):
        return render(request, "components/density.html", {"here": request.POST.get("next", "")})
    return _back(request)


def _back(request: PersonRequest) -> HttpResponseRedirect:
    """To the page that the form names, if it is one of ours; else to the evaluations."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
        target = "/evaluations"
    return HttpResponseRedirect(target)


def _account_page(request: PersonRequest, *, form: NameForm, workspace_form: WorkspaceForm | None = None, status: int) -> HttpResponse:
    context = {
        "form": form,
        "workspace_form": workspace_form or WorkspaceForm(auto_id="id_workspace_%s"),
        "memberships": memberships_of_request(request),
    }
    return render_page(request, "workspaces/account.html", context, status=status)
