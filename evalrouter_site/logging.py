"""Logs through structlog: lines for people on one machine, JSON in production. Credential-shaped text is removed."""

import logging.config
from typing import Any

import structlog

from common.redaction import redact_event


def configure(options: dict[str, Any]) -> None:
    """Set up the standard library's logging and structlog; called by Django with the `LOGGING` setting."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        redact_event,
    ]
    renderer = structlog.processors.JSONRenderer() if options["json"] else structlog.dev.ConsoleRenderer(colors=False)
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "default": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        structlog.processors.format_exc_info,
                        renderer,
                    ],
                }
            },
            "handlers": {"default": {"class": "logging.StreamHandler", "formatter": "default"}},
            "root": {"handlers": ["default"], "level": options["level"]},
            "loggers": {
                "django.server": {"handlers": ["default"], "level": "WARNING", "propagate": False},
                "stripe": {"level": "WARNING"},  # a line for each request and each answer; what went wrong we say ourselves
            },
        }
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
