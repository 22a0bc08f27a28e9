"""What people and the platform do with accounts, workspaces, members and keys.

Each action takes its subject first and the `actor` always; its transaction, locks, audit entry and signals are inside.
"""

from workspaces.actions.api_keys import authenticate_key, change_api_key, create_api_key, revoke_api_key, roll_api_key
from workspaces.actions.members import add_member, change_role, remove_member
from workspaces.actions.workspaces import (
    change_name,
    choose_density,
    close_onboarding,
    create_account,
    create_first_workspace,
    create_workspace,
    rename_workspace,
)

__all__ = [
    "add_member",
    "authenticate_key",
    "change_api_key",
    "change_name",
    "change_role",
    "choose_density",
    "close_onboarding",
    "create_account",
    "create_api_key",
    "create_first_workspace",
    "create_workspace",
    "remove_member",
    "rename_workspace",
    "revoke_api_key",
    "roll_api_key",
]
