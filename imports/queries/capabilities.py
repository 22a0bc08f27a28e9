"""What a workspace may import from."""

from django.conf import settings

from workspaces.models import Workspace


def may_use_github(workspace: Workspace) -> bool:
    """Whether GitHub imports are available to the workspace."""
    return False


def may_use_hub(workspace: Workspace) -> bool:
    """Whether imports from Hugging Face are available to the workspace."""
    return bool(settings.HUGGINGFACE_IMPORTS)
