from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"

    def ready(self) -> None:
        from runs import books, receivers  # noqa: F401
        from runs.notices import receivers as notices  # noqa: F401
