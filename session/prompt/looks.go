package prompt

// Looks reports whether a line ends as the prompts of shells do.
func Looks(line string) bool { return tail.MatchString(line) }
