package releases

import "testing"

func TestHomepage(t *testing.T) {
	for url, want := range map[string]string{
		"https://github.com/OWNER/ptyctl/releases/download/v0.2.0":  "https://github.com/OWNER/ptyctl",
		"https://github.com/OWNER/ptyctl/releases/download/v0.2.0/": "https://github.com/OWNER/ptyctl",
		"https://example.com/ptyctl/":                               "https://example.com/ptyctl",
	} {
		if got := Homepage(url); got != want {
			t.Errorf("Homepage(%q) = %q, want %q", url, got, want)
		}
	}
}
