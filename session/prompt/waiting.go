package prompt

import (
	"regexp"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/term"
)

// The kinds of thing a terminal can wait for.
const (
	Password = "password"
	YesNo    = "yes_no"
	Pager    = "pager"
	Login    = "login"
	HostKey  = "host_key"
	Editor   = "editor" // or any other program that has taken the whole screen
	REPL     = "repl"
	Command  = "prompt" // of a shell or device
	Unknown  = "unknown"

	Continuation = "continuation" // a shell asks for the rest of a command
)

// A waitPattern recognises one kind of question by the unfinished last line, as a person sees it.
type waitPattern struct {
	kind string
	re   *lazyregexp.Regexp
}

// waitPatterns are tried in order. They recognise questions; none is ever answered, and they only decide when a result
// is returned.
var waitPatterns = []waitPattern{
	{HostKey, lazyregexp.New(`(?i)are you sure you want to continue connecting.*\? ?$`)},
	{
		Password,
		lazyregexp.New(
			`(?i)(?:pass(?:word|phrase|code)|verification code|one-time code|\bpin\b|\botp\b|token)[^:?\r\n]{0,80}[:?] ?$`,
		),
	},
	{Password, lazyregexp.New(`(?i)\bpass(?:word|phrase) for [^\r\n]{1,120}: ?$`)},
	{
		YesNo,
		lazyregexp.New(
			`(?i)[\[(<] ?(?:y(?:es)? ?[/|] ?no?|yes/no/\[fingerprint\])(?: ?[/|] ?[a-z?]+)* ?[\])>][ :?]*$`,
		),
	},
	{YesNo, lazyregexp.New(`(?i)(?:\(y or n\)|continue\? ?(?:\[[yn]\])?|proceed\?) ?$`)},
	{
		Pager,
		lazyregexp.New(
			`(?i)(?:-{2,4} ?\(?more(?: ?\(?\d{1,3}%\)?)?\)? ?-{2,4}(?:\(\d{1,3}%\))?|<-{1,3} ?more ?-{1,3}>|press (?:any key|enter|return) to continue|-press any key for more-|^press q to quit, enter |^\(end\)|^lines \d+-\d+|-- \[q quit\|)[^\r\n]{0,60}$`,
		),
	},
	{
		Pager,
		lazyregexp.New(
			`(?i)\b(?:press|hit|strike|tap) (?:the )?[\[<("']?(?:any key|enter|return|space(?:bar| bar)?)[\])>"']?(?: key| now)?(?: (?:to|for|when)\b[^,\r\n]{0,60})?[ .:…)\]]*$`,
		),
	},
	{Pager, lazyregexp.New(`^:$`)},
	{Login, lazyregexp.New(`(?i)(?:^|[\s\w.-])(?:login|user ?name(?: for [^\r\n]{1,100})?): ?$`)},
	{
		REPL,
		lazyregexp.New(
			`^(?:>>> |\.\.\. |In \[\d+\]: |\(gdb\) |\(lldb\) |\(i?[Pp]db\) |sqlite> |mysql> |MariaDB \[[^\]]*\]> |[\w-]+[=-][#>] |irb\([^)]*\):\d+:\d+> |> |ftp> |sftp> |redis [^>]*> |[\w.:-]+:\d+> )$`,
		),
	},
}

// shellPrompt matches the last line of a shell that is ready; learned and given prompts are tried first.
var shellPrompt = lazyregexp.New(`[$#%>❯➜»] ?$`)

// percentage is the end of a line that reports progress, which is no prompt.
var percentage = lazyregexp.New(`\d ?% ?$`)

// devicePrompt matches the last line of a network device's command line: a bare name, perhaps with a mode, and > or #.
// A marker must never be typed there.
var devicePrompt = lazyregexp.New(
	`^(?:<[\w.\-@/:]{1,64}>|\[[~*]{0,2}[\w.\-@/:]{1,64}\]|[\w.\-/]{2,64}(?:\([^()\r\n]{1,40}\))?[>#]) ?$`,
)

// nestedShell matches the prompt of an unknown shell that was started in the terminal: user@host with a directory, a
// directory alone, a shell's name and version, or a bare sign. Programs and devices have prompts of the other forms,
// so a marker is typed at none of those.
var nestedShell = lazyregexp.New(
	`^(?:\([\w.-]+\) )?(?:(?:[\w.-]+|I have no name!)@[\w.-]+[: ][~/][^$#%>]*[$#%]|\[[\w.-]+@[\w.-]+ [^\]]*\][$#%]|-?[a-z]*sh-\d[\w.]*[#$]|[~/][^ $#>]* ?[$#]|[A-Za-z][\w.-]*%|[$#%]) ?$`,
)

// isDevice reports whether a line looks like a device's prompt and not like a shell's, as bash-5.2# and /usr# do.
func isDevice(line string) bool {
	return devicePrompt.MatchString(line) && !isNested(line)
}

// isNested reports whether a line is the prompt of some shell, perhaps with the time of day.
func isNested(line string) bool { return nestedShell.MatchString(clock.ReplaceAllString(line, "")) }

// Waits returns the question that the last line seems to ask, or nil.
func Waits(line string, pagers []*regexp.Regexp) *term.Waiting {
	text := strings.TrimRight(line, " ")
	if text == "" {
		return nil
	}
	for _, re := range pagers {
		if re.MatchString(line) {
			return &term.Waiting{Kind: Pager, Text: line}
		}
	}
	for _, p := range waitPatterns {
		if p.re.MatchString(line) {
			return &term.Waiting{Kind: p.kind, Text: line}
		}
	}
	if len(line) <= maxQuestion && foreignPassword.MatchString(line) {
		return &term.Waiting{Kind: Password, Text: line}
	}
	if named(line) {
		return &term.Waiting{Kind: Continuation, Text: line}
	}
	if len(line) <= maxQuestion && formOf(line).yesNo(line) {
		return &term.Waiting{Kind: YesNo, Text: line}
	}
	return nil
}

// IsLogin reports whether a line is one of the questions of a login.
func IsLogin(line string) bool {
	w := Waits(line, nil)
	return w != nil && (w.Kind == Login || w.Kind == Password)
}
