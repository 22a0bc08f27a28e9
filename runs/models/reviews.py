"""What people say of samples: notes, and verdicts of their own beside the grader's."""
