package prompt

import (
	"testing"

	"ptyctl/session/shell"
)

// Lines behind which a POSIX shell surely asks for more, and others.
func TestUnfinished(t *testing.T) {
	for text, want := range map[string]bool{
		"echo 'a": true, `echo "a`: true, "echo a \\": true, "cat a |": true, "true &&": true, "for i in 1 2": true,
		"while true; do": true, "if true; then echo": true, "case x in": true, "echo 'a\nb": true, "for i in 1\ndo": true,
		"echo `date": true,
		"":           false, "ls": false, "echo 'a'": false, "echo 'a\nb'": false, `echo "it's"`: false, "echo it\\'s": false,
		"for i in 1 2; do echo; done": false, "for i (1 2) echo": false, "if true; then echo; fi": false,
		"echo a # it's": false, "case x in x) ;; esac": false, "echo for": false, "for i in 1\ndo echo\ndone": false,
		`echo $'it\'s'`: false,
	} {
		if got := unfinished(text + "\n"); got != want {
			t.Errorf("unfinished(%q) = %v, want %v", text, got, want)
		}
	}
}

// Lines that surely leave a shell at its prompt, and others.
func TestPlain(t *testing.T) {
	for line, want := range map[string]bool{
		"cd /usr": true, "ls -l | wc": true, "make; echo $?": true, "": true,
		"echo 'a'": false, "ls |": false, "read x": false, "for i in 1 2": false, "cd /; read x": false, "cat <<E": false, "echo \\": false,
	} {
		if got := isPlain(line); got != want {
			t.Errorf("isPlain(%q) = %v, want %v", line, got, want)
		}
	}
}

// Text that is typed and not entered counts where the line still shows it.
func TestHalfTyped(t *testing.T) {
	for _, tt := range []struct {
		at, text, line string
		want           bool
	}{
		{"$ ", "ls", "$ ls", true},
		{"$ ", "ls\x7f\x7f", "$ ", false},
		{"$ ", "ls\r", "$ ls", false},
		{"$ ", "ls\x03", "$ ", false},
		{"$ ", "\x1b[A", "$ make", true},
		{"[12:00] $ ", "rm", "[12:01] $ rm", true},
		{":", "q", "$ ", false},
		{"$ ", "ls\x15", "$ ", false},
	} {
		h := NewHistory()
		h.Touch(Input{Line: tt.at, Text: []byte(tt.text)})
		if got := h.halfTyped(tt.line); got != tt.want {
			t.Errorf("%q typed at %q, now %q: %v", tt.text, tt.at, tt.line, got)
		}
	}
}

// Commands that start a shell which reads the terminal, and others.
func TestStarts(t *testing.T) {
	for _, tt := range []struct {
		command string
		class   shell.Class
		ok      bool
	}{
		{"bash", shell.Posix, true},
		{"bash --rcfile x --norc", shell.Posix, true},
		{"sudo -i zsh", shell.Posix, true},
		{"docker exec -it web sh", shell.Posix, true},
		{"kubectl exec -it web -- /bin/fish", shell.Fish, true},
		{"cd /tmp; env PS1='> ' bash", shell.Posix, true},
		{"su -", "", true},
		{"sudo -i", "", true},
		{"sudo -u me -s", "", true},
		{"docker exec -it web /entry", "", true},
		{"ssh web1", "", true},
		{"true && exec bash", shell.Posix, true},
		{"bash script.sh", shell.Posix, false},
		{"bash -c 'read x'", "", false},
		{"curl http://x | bash", "", false},
		{"bash <script", "", false},
		{"make bash.o", "", false},
		{"sudo make install", "", false},
		{"docker exec web ls", "", false},
		{"bash; make", "", false},
		{"echo 'bash", "", false},
	} {
		if class, ok := Starts(tt.command); ok != tt.ok || ok && class != tt.class {
			t.Errorf("Starts(%q) = %q, %v; want %q, %v", tt.command, class, ok, tt.class, tt.ok)
		}
	}
}
