package screen_test

import (
	"regexp"
	"testing"

	"ptyctl/screen"
)

// unknown matches text that a program may read without knowing it: numbers, lists of them, colours, names.
var unknown = regexp.MustCompile(`[0-9a-f]{4}/[0-9a-f]{4}/[0-9a-f]{4}|[0-9]+(;[0-9]+)*|XTerm\([0-9]+\)|ptyctl`)

// form is an answer without the parts that differ between terminals.
func form(answer string) string { return unknown.ReplaceAllString(answer, "#") }

// xterm has the answers of xterm 379 at 80x24, with allowWindowOps for the size. It does not know the question of
// kitty; the answer is that of https://sw.kovidgoyal.net/kitty/keyboard-protocol/.
var xterm = []struct {
	name, question, answer string
	exact                  bool // the screen answers the same; otherwise only in the same form
}{
	{"DA1", "\x1b[c", "\x1b[?64;1;2;6;9;15;16;17;18;21;22;28c", false},
	{"DA1 with 0", "\x1b[0c", "\x1b[?64;1;2;6;9;15;16;17;18;21;22;28c", false},
	{"DECID", "\x1bZ", "\x1b[?64;1;2;6;9;15;16;17;18;21;22;28c", false},
	{"DA1 with another number", "\x1b[1c", "", true},
	{"DA2", "\x1b[>c", "\x1b[>41;379;0c", false},
	{"DA2 with another number", "\x1b[>1c", "", true},
	{"DSR 5", "\x1b[5n", "\x1b[0n", true},
	{"DSR 6", "ab\x1b[6n", "\x1b[1;3R", true},
	{"DSR 6 in origin mode", "\x1b[?6h\x1b[2;4r\x1b[2;2H\x1b[6n", "\x1b[2;2R", true},
	{"DECXCPR", "ab\x1b[?6n", "\x1b[?1;3;1R", false},
	{"DECRQM, set", "\x1b[?7$p", "\x1b[?7;1$y", true},
	{"DECRQM, reset", "\x1b[?2004$p", "\x1b[?2004;2$y", true},
	{"DECRQM, unknown", "\x1b[?77$p", "\x1b[?77;0$y", true},
	{"DECRQM, alternate screen", "\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y", true},
	{"DECRQM of SM", "\x1b[4$p", "\x1b[4;2$y", true},
	{"DECRQM of SM, always reset", "\x1b[19$p", "\x1b[19;4$y", true},
	{"DECRQM of SM, unknown", "\x1b[99$p", "\x1b[99;0$y", true},
	{"DECRQM with another marker", "\x1b[>4$p\x1b[=4$p\x1b[<4$p", "", true},
	{"DECRQSS SGR", "\x1bP$qm\x1b\\", "\x1bP1$r0m\x1b\\", true},
	{"DECRQSS SGR with colours", "\x1b[1;4;48;5;208;95m\x1bP$qm\x1b\\", "\x1bP1$r0;1;4;95;48:5:208m\x1b\\", true},
	{"DECRQSS DECSTBM", "\x1bP$qr\x1b\\", "\x1bP1$r1;24r\x1b\\", true},
	{"DECRQSS DECSLRM", "\x1b[?69h\x1b[2;4s\x1bP$qs\x1b\\", "\x1bP1$r2;4s\x1b\\", true},
	{"DECRQSS DECSCUSR", "\x1b[3 q\x1bP$q q\x1b\\", "\x1bP1$r3 q\x1b\\", true},
	{"DECRQSS DECSCA", "\x1bP$q\"q\x1b\\", "\x1bP1$r0\"q\x1b\\", true},
	{"DECRQSS, unknown", "\x1bP$qx\x1b\\", "\x1bP0$r\x1b\\", true},
	{"XTVERSION", "\x1b[>q", "\x1bP>|XTerm(379)\x1b\\", false},
	{"OSC 10", "\x1b]10;?\x1b\\", "\x1b]10;rgb:0000/0000/0000\x1b\\", false},
	{"OSC 11", "\x1b]11;?\x1b\\", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", false},
	{"OSC 11 with BEL", "\x1b]11;?\a", "\x1b]11;rgb:ffff/ffff/ffff\a", false},
	{"kitty's keyboard", "\x1b[?u", "\x1b[?0u", true},
	{"the size", "\x1b[18t", "\x1b[8;24;80t", true},
}

// TestRepliesAreXterms also asks each question twice, with text between, and cut anywhere: each is answered once.
func TestRepliesAreXterms(t *testing.T) {
	for _, q := range xterm {
		s := screen.New(80, 24)
		s.Write([]byte(q.question))
		got := string(s.Replies())
		if got != q.answer && (q.exact || form(got) != form(q.answer)) {
			t.Errorf("%s: %q is answered by %q, xterm answers %q", q.name, q.question, got, q.answer)
		}
		pieces := screen.New(80, 24)
		for i := range q.question {
			pieces.Write([]byte(q.question[i : i+1]))
		}
		if again := string(pieces.Replies()); again != got {
			t.Errorf("%s: %q byte by byte is answered by %q, whole by %q", q.name, q.question, again, got)
		}
		s.Write([]byte("text\r\n"))
		s.Resize(81, 24)
		s.Snapshot()
		if late := s.Replies(); late != nil {
			t.Errorf("%s: %q is answered again, by %q", q.name, q.question, late)
		}
	}
}

// A query gets no answer if the answer could put the far side's words into the input, or would reveal something about
// this machine.
func TestUnanswered(t *testing.T) {
	for name, in := range map[string]string{
		"the title":              "\x1b]2;rm -rf\a\x1b[21t",
		"the icon's title":       "\x1b]1;rm -rf\a\x1b[20t",
		"the title in hex":       "\x1b[>0;1T\x1b[>2;3t\x1b]2;rm\a\x1b[21t\x1b[20t",
		"a title from the stack": "\x1b]2;rm\a\x1b[22t\x1b]2;ls\a\x1b[23t\x1b[21t",
		"the clipboard":          "\x1b]52;c;?\a\x1b]52;;?\x1b\\\x1b]52;c;cm0=\a\x1b]52;c;?\a",
		"kitty's clipboard":      "\x1b]5522;type=read;Lg==\x1b\\",
		"answerback":             "\x05\x05",
		"answerback in a DCS":    "\x1bP\x05\x1b\\",
		"DECRQCRA":               "rm\x1b[1;1;1;1;1;1*y\x1b[1*y\x1b[1;1;1;1;24;80*y",
		"DECRQPSR":               "\x1b[1$w\x1b[2$w",
		"DECREQTPARM":            "\x1b[x\x1b[1x",
		"DECRQTSR, DECRQUPSS":    "\x1b[1$u\x1b[&u",
		"DECUDK and its state":   "\x1bP0;0|17/726d\x1b\\\x1b[?25n",
		"the palette":            "\x1b]4;1;?\a\x1b]5;0;?\a\x1b]12;?\a\x1b]17;?\a",
		"the font":               "\x1b]50;?\a",
		"pixels and place":       "\x1b[11t\x1b[13t\x1b[14t\x1b[15t\x1b[16t\x1b[19t",
		"terminfo":               "\x1bP+q544e\x1b\\",
		"DECRQSS with a text":    "\x1bP$qrm -rf\x1b\\",
		"sixels":                 "\x1b[?1;1;0S\x1b[?2;1;0S",
		"the selection":          "\x1b]1337;ReportVariable=bmFtZQ==\a\x1b]1337;ReportCellSize\a",
		"kitty's graphics":       "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
		"files":                  "\x1b]1337;RequestUpload=format=tgz\a\x1b]5113;ac=recv\a",
	} {
		s := screen.New(80, 24)
		s.Write([]byte(in))
		if got := s.Replies(); got != nil {
			t.Errorf("%s: %q is answered by %q, want no answer", name, in, got)
		}
	}
}

// No answer may hold a word that the far side has chosen, or press a key in whatever reads it.
func TestRepliesHaveNoText(t *testing.T) {
	harmless := regexp.MustCompile(`^(` +
		`\x1b\[[?>]?[0-9;]*(\$y|[cnRtu])|` + // DA, DSR, DECRQM, the size, kitty
		`\x1bP[01]\$r[0-9;:]*( q|"q|[mrs])?\x1b\\|` + // DECRQSS
		`\x1bP>\|ptyctl\x1b\\|` + // XTVERSION
		`\x1b\]1[01];rgb:[0-9a-f/]{14}(\a|\x1b\\)` + // OSC 10 and 11
		`)*$`)
	for _, r := range recordings(t) {
		s := screen.New(r.cols, r.rows)
		for rest := r.raw; len(rest) > 0; {
			n := min(100, len(rest))
			s.Write(rest[:n])
			if got := s.Replies(); !harmless.Match(got) {
				t.Errorf("%s is answered by %q, which is not of the fixed set", r.name, got)
			}
			rest = rest[n:]
		}
	}
	for _, q := range xterm {
		s := screen.New(80, 24)
		s.Write([]byte(q.question))
		if got := s.Replies(); !harmless.Match(got) {
			t.Errorf("%q is answered by %q, which is not of the fixed set", q.question, got)
		}
	}
}
