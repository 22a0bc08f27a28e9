"""People, their workspaces, their keys, and the record of who changed what."""

from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from common.ids import new_id
from workspaces.enums import ActorKind, Density, Role, Scope


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).strip(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """A person. The e-mail address is the name; `is_staff` is platform staff and no workspace role."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    email = models.EmailField(max_length=254)
    name = models.CharField(max_length=120, blank=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)
    onboarding_closed_at = models.DateTimeField(null=True, blank=True)
    """When they closed "Getting started"; it does not come up by itself afterwards."""
    table_density = models.CharField(max_length=12, choices=Density.choices, default=Density.COMFORTABLE, db_default=Density.COMFORTABLE)

    density_choices = Density.choices

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_once")]

    def __str__(self) -> str:
        return self.email

    def get_short_name(self) -> str:
        return self.name or self.email.partition("@")[0]


class Workspace(models.Model):
    """The boundary of everything private: data, connections, runs, money."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    name = models.CharField(max_length=120)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in a workspace."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.workspace_id}: {self.role}"


class ApiKey(models.Model):
    """A workspace's credential: a prefix to find it by and the SHA-256 of its secret, which is shown once and never stored.

    `lineage` is shared by a key and what it is rolled into; ceilings and spend count against it.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="api_keys")
    label = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16, unique=True)
    secret_sha256 = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    lineage = models.UUIDField(default=new_id, db_index=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix})"

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)

    def has_scope(self, scope: Scope) -> bool:
        return scope.value in self.scopes


class AuditEntry(models.Model):
    """Who changed keys, members, money, connections or the catalog, and how. Written once, in the transaction of the change."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, null=True, related_name="audit_entries")
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    actor_id = models.CharField(max_length=40, blank=True)
    actor_label = models.CharField(max_length=260, blank=True)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=120)
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["workspace", "-id"])]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.action} {self.target}"
