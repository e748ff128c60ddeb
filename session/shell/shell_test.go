package shell

import (
	"testing"

	"ptyctl/term"
)

func TestFromAnswer(t *testing.T) {
	for _, tt := range []struct {
		answer string
		want   Shell
	}{
		{"/bin/bash\n", Shell{Posix, "bash"}},
		{"/bin/bash\r\n", Shell{Posix, "bash"}},
		{"/usr/bin/rbash\n", Shell{Posix, "rbash"}},
		{"/bin/sh", Shell{Posix, "sh"}},
		{"/bin/ash\n", Shell{Posix, "ash"}},
		{"/usr/bin/zsh\n", Shell{Posix, "zsh"}},
		{"/bin/mksh\n", Shell{Posix, "mksh"}},
		{"/usr/bin/fish\n", Shell{Fish, "fish"}},
		{"/bin/tcsh\n", Shell{Csh, "tcsh"}},
		{"/opt/microsoft/powershell/7/pwsh\n", Shell{PowerShell, "pwsh"}},
		{"$SHELL\r\n", Shell{Cmd, ""}},
		{"welcome\nto this host\n/bin/zsh\n", Shell{Posix, "zsh"}},
		{"/usr/sbin/nologin\n", Shell{Unknown, "nologin"}},
		{"/usr/bin/nu\n", Shell{Unknown, "nu"}},
		{"", Shell{Unknown, ""}},
		{"\n\n", Shell{Unknown, ""}},
		{"bash\n", Shell{Unknown, ""}},
		{"/is not/a shell\n", Shell{Unknown, ""}},
		{"% Invalid input detected at '^' marker.\n", Shell{Unknown, ""}},
		{"This account is currently not available.\n", Shell{Unknown, ""}},
		{"\x1b[31m/bin/bash\xff\x00", Shell{Unknown, ""}},
	} {
		if got := FromAnswer([]byte(tt.answer)); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.answer, got, tt.want)
		}
	}
}

func TestOfProcess(t *testing.T) {
	for name, want := range map[string]Class{
		"bash": Posix, "/bin/zsh": Posix, "-ksh": Posix, "fish": Fish, "tcsh": Csh,
		"pwsh": PowerShell, "cmd.exe": Cmd, "PowerShell.exe": PowerShell, "gdb": "", "python3": "",
	} {
		if got := OfProcess(&term.Process{Argv: []string{name, "-x"}}); got.Class != want {
			t.Errorf("%s: %q, want %q", name, got.Class, want)
		}
	}
	if got := OfProcess(nil); got != (Shell{}) {
		t.Errorf("no program: %+v", got)
	}
}

func TestOf(t *testing.T) {
	bash := &term.Process{Argv: []string{"bash"}}
	for _, tt := range []struct {
		about term.Description
		want  Shell
	}{
		{term.Description{Shell: "fish", Process: bash}, Shell{Class: Fish}}, // from the Transport
		{term.Description{Process: bash}, Shell{Posix, "bash"}},
		{term.Description{Shell: "klingon", Process: bash}, Shell{Posix, "bash"}},
		{term.Description{}, Shell{}},
	} {
		if got := Of(tt.about); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.about, got, tt.want)
		}
	}
}
