"""The people of the workspace one works in: adding, changing roles, removing."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from common.errors import Forbidden, Refused
from common.forms import add_refusal
from common.web import page, render_page
from workspaces.actions import add_member, change_role, remove_member
from workspaces.actors import Actor, actor_of_user
from workspaces.enums import RANK, Role
from workspaces.forms import MemberForm, RoleForm
from workspaces.models import Workspace
from workspaces.permissions import can_manage_members, require, role_of
from workspaces.queries import get_member, get_workspace_of, members_of, required_workspace
from workspaces.requests import PersonRequest


@require_http_methods(["GET", "POST"])
@page
def members(request: PersonRequest) -> HttpResponse:
    actor = actor_of_user(request.user)
    if request.method == "GET":
        return _members_page(request, actor, required_workspace(request), form=MemberForm())
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    require(can_manage_members(actor, workspace))
    form = MemberForm(request.POST)
    if form.is_valid():
        try:
            added = add_member(workspace, actor=actor, email=form.cleaned_data["email"], role=Role(form.cleaned_data["role"]))
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message, "email")
        else:
            messages.success(request, f"{added.user.email} is a member now.")
            return redirect("workspaces:members")
    return _members_page(request, actor, workspace, form=form, status=422)


@require_POST
@page
def role(request: PersonRequest, user_id: UUID) -> HttpResponse:
    actor = actor_of_user(request.user)
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    membership = get_member(workspace, user_id)
    require(can_manage_members(actor, workspace))
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _members_page(request, actor, workspace, form=MemberForm(), refusal="Choose one of the roles.", status=422)
    try:
        change_role(membership, actor=actor, role=Role(form.cleaned_data["role"]))
    except Forbidden:
        raise
    except Refused as refused:
        return _members_page(request, actor, workspace, form=MemberForm(), refusal=refused.message, status=refused.status)
    messages.success(request, f"The role of {membership.user.email} is changed.")
    return redirect("workspaces:members")


@require_POST
@page
def removal(request: PersonRequest, user_id: UUID) -> HttpResponse:
    """Remove a member, or leave."""
    actor = actor_of_user(request.user)
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    membership = get_member(workspace, user_id)
    try:
        remove_member(membership, actor=actor)
    except Forbidden:
        raise
    except Refused as refused:
        return _members_page(request, actor, workspace, form=MemberForm(), refusal=refused.message, status=refused.status)
    if membership.user_id == request.user.pk:
        messages.success(request, f"You have left “{workspace.name}”.")
        return redirect("workspaces:account")
    messages.success(request, f"{membership.user.email} is no longer a member.")
    return redirect("workspaces:members")


def _members_page(
    request: PersonRequest, actor: Actor, workspace: Workspace, *, form: MemberForm, refusal: str = "", status: int = 200
) -> HttpResponse:
    own = role_of(actor, workspace)
    can_manage = can_manage_members(actor, workspace)
    rank = RANK[own] if own else -1
    roles = [choice for choice in Role.choices if RANK[Role(choice[0])] <= rank]
    form.fields["role"].choices = roles  # type: ignore[attr-defined]
    rows = [
        {"membership": row, "can_change": can_manage and RANK[Role(row.role)] <= rank, "is_self": row.user_id == request.user.pk}
        for row in members_of(workspace)
    ]
    context = {"workspace": workspace, "rows": rows, "roles": roles, "form": form, "can_manage": can_manage, "refusal": refusal}
    return render_page(request, "workspaces/members.html", context, status=status)
