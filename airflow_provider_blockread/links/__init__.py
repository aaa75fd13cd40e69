"""Links of tasks to what they worked on."""
