"""The page of the workspace one works in: its name, its ID, what was changed in it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from common.pages import page_of
from common.web import page, render_page
from workspaces.actions import rename_workspace
from workspaces.actors import actor_of_user
from workspaces.forms import WorkspaceForm
from workspaces.permissions import can_manage_workspace, require
from workspaces.queries import audit_entries_for, get_workspace_of, required_workspace
from workspaces.requests import PersonRequest


@require_http_methods(["GET", "POST"])
@page
def workspace(request: PersonRequest) -> HttpResponse:
    actor = actor_of_user(request.user)
    if request.method == "POST":
        chosen = get_workspace_of(request.user, request.POST.get("workspace", ""))
        require(can_manage_workspace(actor, chosen))
        form = WorkspaceForm(request.POST)
        if form.is_valid():
            rename_workspace(chosen, actor=actor, name=form.cleaned_data["name"])
            messages.success(request, "The name is saved.")
            return redirect("workspaces:workspace")
    else:
        chosen = required_workspace(request)
        form = WorkspaceForm(initial={"name": chosen.name})
    context = {
        "workspace": chosen,
        "form": form,
        "can_manage": can_manage_workspace(actor, chosen),
        "changes": page_of(audit_entries_for(chosen), cursor=request.GET.get("cursor"), limit=20),
        "cursor": request.GET.get("cursor"),
    }
    return render_page(request, "workspaces/workspace.html", context, status=422 if form.errors else 200)
