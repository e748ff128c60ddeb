package forms_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"ptyctl/secret/forms"
)

// values are such as people and programs make.
var values = []string{
	"hunter2x", "correct horse battery", `pa"ss\wo'rd$1`, "tr0ub4dor&3", "s3cr3t/with+url?=%", "<b>&amp;", "pässwörter€",
	"日本語パスワード", "sixsix", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "a`b!c#d|e;f(g)h[i]{j}~k^l*m", strings.Repeat("long-", 60),
}

func matcher(values ...string) *forms.Matcher {
	var list []forms.Value
	for _, v := range values {
		list = append(list, forms.Value{Text: []byte(v)})
	}
	return forms.New(list)
}

// encodings write a value as programs do, with nothing around it that the program would not write.
var encodings = map[string]func(string) string{
	"raw":               func(v string) string { return v },
	"base64":            func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
	"base64 of a line":  func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v + "\n")) },
	"base64, 1 before":  func(v string) string { return base64.StdEncoding.EncodeToString([]byte("x" + v + "yy")) },
	"base64, 2 before":  func(v string) string { return base64.StdEncoding.EncodeToString([]byte("ab" + v + "y")) },
	"base64, basic":     func(v string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + v)) },
	"base64 of URLs":    func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte("?>" + v)) },
	"base64 of UTF-16":  func(v string) string { return base64.StdEncoding.EncodeToString(wide("$p='" + v + "'")) },
	"hex":               func(v string) string { return hex.EncodeToString([]byte(v)) },
	"HEX":               func(v string) string { return strings.ToUpper(hex.EncodeToString([]byte(v))) },
	"hex with colons":   func(v string) string { return strings.TrimSuffix(fmt.Sprintf("% x", v), " ") },
	"hex of Go":         func(v string) string { return strings.ReplaceAll(fmt.Sprintf("% x", v), " ", ":") },
	"URL, path":         url.PathEscape,
	"URL, query":        url.QueryEscape,
	"shell":             func(v string) string { return strings.ReplaceAll(v, "'", `'\''`) },
	"JSON of Go":        func(v string) string { b, _ := json.Marshal(v); return string(b[1 : len(b)-1]) },
	"JSON in JSON":      func(v string) string { return inJSON(inJSON(v)) },
	"JSON, ASCII":       func(v string) string { return strings.Trim(strconv.QuoteToASCII(v), `"`) },
	"HTML":              html.EscapeString,
	"SQL":               func(v string) string { return strings.ReplaceAll(v, "'", "''") },
	"reversed by rev":   func(v string) string { return reverse([]rune(v)) },
	"reversed by bytes": func(v string) string { return string(reverseBytes([]byte(v))) },
}

func inJSON(v string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSuffix(b.String()[1:], "\"\n")
}

func wide(v string) (b []byte) {
	for _, u := range utf16.Encode([]rune(v)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return b
}

func reverse(r []rune) string {
	for i := range len(r) / 2 {
		r[i], r[len(r)-1-i] = r[len(r)-1-i], r[i]
	}
	return string(r)
}

func reverseBytes(b []byte) []byte {
	for i := range len(b) / 2 {
		b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
	}
	return b
}

// TestEncodings: each value is found in each encoding.
func TestEncodings(t *testing.T) {
	for _, v := range values {
		m := matcher(v)
		for name, encode := range encodings {
			if name == "JSON, ASCII" && strings.ContainsRune(v, '日') || strings.Contains(name, "JSON in") && v != "hunter2x" && !strings.ContainsAny(v, `"\`) {
				continue // the same as others
			}
			enc := encode(v)
			in := "before " + enc + "\r\nafter"
			got := string(m.Mask([]byte(in)))
			if strings.Contains(got, enc) || !strings.Contains(got, forms.Mask) {
				t.Errorf("%s of %q: Mask(%q) = %q, want the form hidden", name, v, in, got)
				continue
			}
			// All but a few characters are gone, those at the edges that hold bits of the text around the value.
			if left := len(got) - len("before \r\nafter") - len(forms.Mask); left > 18 {
				t.Errorf("%s of %q: Mask(%q) = %q, %d characters too long", name, v, in, got, left)
			}
		}
	}
}

// TestPrograms: the forms in which programs write values.
func TestPrograms(t *testing.T) {
	for _, v := range []string{"hunter2x", `it's "5$" & so`, "tr0ub4dor&3", "sixteen-bytes-00", "aVeryLongSecret0123456789abcdef0123456789"} {
		m := matcher(v)
		for _, line := range []string{
			`printf %s "$1"`, `printf %s "$1" | base64`, `echo "$1" | base64`, `printf 'Basic x:%s' "$1" | base64 -w 20`,
			`printf %s "$1" | od -An -tx1`, `printf %s "$1" | od -An -c`, `printf %s "$1" | rev`, `printf %q "$1"`,
			`printf %s "${1@Q}"`, `printf %s "$1" | fold -w 5`, `printf %s "$1" | sed 's/./&\x1b[0m/g'`,
			`set -x; : "$1"`, `declare -p 1 2>/dev/null; x=$1; declare -p x`, `printf %s "$1" | od -An -v -tx1 | tr -d ' \n'`,
		} {
			got, err := exec.Command("bash", "-c", line, "bash", v).CombinedOutput()
			if err != nil {
				t.Fatalf("%s of %q: %v: %s", line, v, err, got)
			}
			if masked := m.Mask(got); !strings.Contains(string(masked), forms.Mask) {
				t.Errorf("%s of %q is %q, and Mask leaves it so", line, v, got)
			}
		}
	}
}
