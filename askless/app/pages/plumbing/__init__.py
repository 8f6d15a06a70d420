"""What every page needs: callers, frame, templates, forms, errors."""
