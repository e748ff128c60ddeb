package screen_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"ptyctl/screen"
)

// A generator makes output that uses everything a terminal knows, and much that it does not.
type generator struct{ *rand.Rand }

func (g generator) pick(s ...string) string { return s[g.IntN(len(s))] }

// number is a parameter: often left out or small, sometimes absurd.
func (g generator) number() string {
	switch g.IntN(8) {
	case 0, 1:
		return ""
	case 2:
		return "0"
	case 3:
		return g.pick("999", "65535", "65536", "99999999999")
	}
	return fmt.Sprint(1 + g.IntN(30))
}

func (g generator) numbers(most int) string {
	all := make([]string, g.IntN(most+1))
	for i := range all {
		all[i] = g.number()
	}
	return strings.Join(all, ";")
}

// piece is a text or a sequence.
func (g generator) piece() string {
	switch g.IntN(22) {
	case 0, 1, 2:
		return strings.Repeat(string(rune('a'+g.IntN(26))), 1+g.IntN(25))
	case 3:
		return g.pick("漢字", "한글", "ä", "─│", "e\u0301\u0302", "\u0301", "👩\u200d💻", "🇩🇪", "❤\ufe0f", "👍🏽", "\u200b", "\u00ad", "ﷺ", "\U0010fffd")
	case 4:
		return g.pick("\xff", "\xc3", "\xe6\xbc", "\xf0\x9f\x91", "\xed\xa0\x80", "\xc0\xaf", "\u0085", "\u008d", "\u009b1m", "\x80", "\x9b")
	case 5, 6:
		return g.pick("\r\n", "\n", "\r", "\b", "\b\b\b", "\t", "\v", "\f", "\x0e", "\x0f", "\a", "\x00", "\x7f", "\x18", "\x1a", "\x05")
	case 7, 8:
		return fmt.Sprintf("\x1b[%d;%dH", 1+g.IntN(14), 1+g.IntN(34))
	case 9, 10, 11:
		return "\x1b[" + g.numbers(2) + g.pick(strings.Split("@ABCDEFGHIJKLMPSTXZ^`abdefgijnrstu", "")...)
	case 12:
		return "\x1b[" + g.pick("", "?", ">", "<", "=") + g.numbers(3) + g.pick("", " ", "!", "\"", "#", "$", "'", "*", "!!") +
			string(rune('@'+g.IntN(63)))
	case 13, 14:
		mode := g.pick("1", "3", "5", "6", "7", "9", "12", "25", "40", "45", "47", "66", "69", "1000", "1002", "1003", "1004", "1005", "1006",
			"1015", "1016", "1045", "1047", "1048", "1049", "2004", "2026", "2027", "2031", "2048", "7;6", "1049;2026")
		return "\x1b[?" + mode + g.pick("h", "l", "h", "l", "s", "r", "$p")
	case 15:
		return "\x1b[" + g.pick("4", "20", "2", "12", "3") + g.pick("h", "l", "$p")
	case 16:
		return "\x1b[" + g.pick("", "0", "1", "7", "4:3", "38;5;200", "48;2;1;2;3", "38:2::9:8:7", "58;5;1", "22;27", "39;49", "1;31;44", "53", "38;5",
			"38:2", "107") + "m"
	case 17:
		return "\x1b" + g.pick(strings.Split("6789DEHMNOZc=>no(0|(B|)0|(A|*0|+0|#3|#4|#5|#6|#8|%G| F", "")...) + g.pick("", "0", "B")
	case 18:
		return "\x1b]" + g.pick("0;title", "2;漢字", "7;file:///tmp", "8;;http://h/x", "8;;", "8;id=1;x", "10;?", "11;?", "52;c;?", "133;A", "133;B",
			"133;C", "133;D;0", "4;1;?", "9999;x", "") + g.pick("\a", "\x1b\\", "\x18", "\x1b")
	case 19:
		return "\x1b" + g.pick("P", "X", "^", "_") + g.pick("$qm", "$qr", "$q q", "+q544e", "1;2|x", "\xff漢") + g.pick("\x1b\\", "\x18", "\x1b")
	case 20:
		return g.pick("\x1b[?69h\x1b[3;9s", "\x1b[2;4r", "\x1b[r", "\x1b[s", "\x1b[!p", "\x1b[?1049h", "\x1b[?1049l", "\x1b7", "\x1b8", "\x1b[22t", "\x1b[23t",
			"\x1b[3J", "\x1b[2J", "\x1b[1\"q", "\x1b[0\"q", "\x1b[?J", "\x1b[?1K", "\x1b[2 @", "\x1b[ A", "\x1b[2'}", "\x1b['~", "\x1b[5b")
	}
	return g.pick("\x1b", "\x1b[", "\x1b[1", "\x1b[1;", "\x1b]", "\x1b]0;x", "\x1bP", "\x1b#", "\x1b(")
}

// TestRandomStreams draws random output with changes of the size between, whole, cut in two, in small pieces and byte by
// byte: the screen, the scrollback and the answers are the same, also where a reader looks between. PTYCTL_LONG draws more.
func TestRandomStreams(t *testing.T) {
	streams := 300
	if os.Getenv("PTYCTL_LONG") != "" {
		streams = 20_000
	}
	for seed := range streams {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 20))}
		// The output between two changes of the size.
		var parts [][]byte
		var sizes [][2]int
		for range 1 + g.IntN(4) {
			var part []byte
			for range g.IntN(60) {
				part = append(part, g.piece()...)
			}
			// The change of the size may come within a sequence.
			parts = append(parts, part[:g.IntN(len(part)+1)], part[len(part)-g.IntN(len(part)+1):])
			sizes = append(sizes, [2]int{1 + g.IntN(40), 1 + g.IntN(14)}, [2]int{30, 10})
		}
		draw := func(most int, look bool) (string, string) {
			s := screen.New(30, 10)
			var answers []byte
			version := uint64(0)
			cut := rand.New(rand.NewPCG(uint64(seed), uint64(most)))
			for i, part := range parts {
				for len(part) > 0 {
					n := min(len(part), 1+cut.IntN(most))
					s.Write(part[:n])
					part = part[n:]
					if look {
						version = s.Diff(version).Version
						answers = append(answers, s.Replies()...)
					}
				}
				s.Resize(sizes[i][0], sizes[i][1])
				answers = append(answers, s.Replies()...)
			}
			if most == 1 {
				check(t, s)
			}
			return state(s.Snapshot()) + s.Scrollback().Text(), string(answers)
		}
		want, answers := draw(1<<20, false)
		for _, most := range []int{1, 2, 5, 40} {
			got, replies := draw(most, most == 5)
			if got != want {
				t.Errorf("stream %d in pieces of at most %d bytes draws another screen: %q, sizes %v\n%q\nwant\n%q", seed, most, parts, sizes, got, want)
			}
			if replies != answers && len(answers) < 1000 { // a reader who asks seldom may lose some
				t.Errorf("stream %d in pieces of at most %d bytes is answered by %q, want %q", seed, most, replies, answers)
			}
		}
		if t.Failed() {
			return
		}
	}
}
