package pty

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"plain":        "plain",
		`ls -la\n`:     "ls -la\n",
		"ls\n":         "ls\n",
		`ls\r\n`:       "ls\r\n",
		`a\tb`:         "a\tb",
		`\x03`:         "\x03",
		`\x04`:         "\x04",
		`\x1a`:         "\x1a",
		`\x1B[A`:       "\x1b[A",
		`\e[A`:         "\x1b[A",
		`\xe9`:         "é", // the character, as in JavaScript, not the byte
		`\x7f`:         "\x7f",
		`\u0003`:       "\x03",
		`\u00e9\u6f22`: "é漢",
		`\ud83d\ude42`: "🙂",
		`\uD83D`:       "\uFFFD",
		`\uD83Dx`:      "\uFFFDx",
		`\uD83D\n`:     "\uFFFD\n",
		`\uD83D\u0041`: "\uFFFDA",
		`\ude42\ud83d`: "\uFFFD\uFFFD",
		`\0`:           "\x00",
		`\0a`:          "\x00a",
		`\\`:           `\`,
		`\\n`:          `\n`,
		`\\\n`:         "\\\n",
		`\\x03`:        `\x03`,
		`\\\\`:         `\\`,

		// Anything else is no escape and stays, for shells and programs.
		`\`:                  `\`,
		`a\`:                 `a\`,
		`\x`:                 `\x`,
		`\x3`:                `\x3`,
		`\xzz`:               `\xzz`,
		`\x+1`:               `\x+1`,
		`\x_1`:               `\x_1`,
		`\u12`:               `\u12`,
		`\u12g4`:             `\u12g4`,
		`\u{1f642}`:          `\u{1f642}`,
		`grep '\bfoo\.go\$'`: `grep '\bfoo\.go\$'`,
		`printf '\033[0m'`:   `printf '\033[0m'`,
		`\a\b\f\v\c`:         `\a\b\f\v\c`,
		`C:\dir\file`:        `C:\dir\file`,
		`a\ b`:               `a\ b`,
		`\N\R\T\E`:           `\N\R\T\E`,
	} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{`ls\n`, `\x03`, `\ud83d\ude42`, `\uD83D\uD83D`, `\\\`, `\0\01`, `\u`, "\xff\\x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := unescape(s)
		if utf8.ValidString(s) && !utf8.ValidString(got) || len(got) > len(s) {
			t.Fatalf("unescape(%q) = %q, want valid UTF-8 and no growth", s, got)
		}
		if !strings.Contains(s, `\`) && got != s {
			t.Fatalf("unescape(%q) = %q, want no change without a backslash", s, got)
		}
		if back := unescape(strings.ReplaceAll(s, `\`, `\\`)); back != s {
			t.Fatalf("unescape(%q with doubled backslashes) = %q, want the text itself", s, back)
		}
	})
}
