"""What a workspace may import from."""

from django.conf import settings

from imports.sources.github_app import is_set_up
from workspaces.models import Workspace


def may_use_github(workspace: Workspace) -> bool:
    """Whether GitHub imports are available to the workspace."""
    return bool(settings.GITHUB_IMPORTS)


def may_use_private_github(workspace: Workspace) -> bool:
    """Whether its admins can connect GitHub accounts, so that private repositories can be read."""
    return may_use_github(workspace) and is_set_up()


def may_use_hub(workspace: Workspace) -> bool:
    """Whether imports from Hugging Face are available to the workspace."""
    return bool(settings.HUGGINGFACE_IMPORTS)
