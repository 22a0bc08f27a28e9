"""What people say of answers, beside what the grader says: notes, verdicts of their own, and the figure that those would make."""
