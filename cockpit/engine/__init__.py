"""Does the work and proves it: the background process."""
