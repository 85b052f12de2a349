"""What the engine does for a task, one move at a time; every move can be repeated after a crash."""
