"""Bundles: a result with everything it was computed from, signed, in one ZIP, and the check of one without trusting its numbers."""

from runs.bundles.checking import MAX_BYTES, BadBundle, Check, check_bundle
from runs.bundles.writing import bundle_parts

__all__ = ["MAX_BYTES", "BadBundle", "Check", "bundle_parts", "check_bundle"]
