package marker

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf16"
)

const psHead = "$ProgressPreference='SilentlyContinue'\n" +
	"$OutputEncoding=[Console]::OutputEncoding=New-Object System.Text.UTF8Encoding $false\n"

func TestPowerShell(t *testing.T) {
	const tail = "\nexit " + psStatus
	for _, tc := range []struct {
		name, program, command, dir string
		env                         []string
		script                      string
	}{
		{"plain", "powershell.exe", "Get-Date", "", nil, "$LASTEXITCODE=$null\nGet-Date" + tail},
		{"quotes", "powershell.exe", `echo "a 'b' & c | %PATH% ^"`, "", nil, "$LASTEXITCODE=$null\n" + `echo "a 'b' & c | %PATH% ^"` + tail},
		{"comment", "pwsh", "1 # one", "", nil, "$LASTEXITCODE=$null\n1 # one" + tail},
		{"lines", "pwsh", "if ($true) {\n  exit 3\n}", "", nil, "$LASTEXITCODE=$null\nif ($true) {\n  exit 3\n}" + tail},
		{"not ASCII", "powershell.exe", "echo é€😀", "", nil, "$LASTEXITCODE=$null\necho é€😀" + tail},
		{
			"folder", "powershell.exe", "ls", `C:\it's [here]`, nil,
			`Set-Location -LiteralPath ('C:\it''s [here]') -ErrorAction Stop` + "\n$LASTEXITCODE=$null\nls" + tail,
		},
		{
			"variables", "powershell.exe", "ls", "", []string{"A=b=c", "EMPTY=", "Q='x"},
			"Set-Item -LiteralPath ('Env:A') -Value ('b=c')\nSet-Item -LiteralPath ('Env:EMPTY') -Value ('')\n" +
				"Set-Item -LiteralPath ('Env:Q') -Value ('''x')\n$LASTEXITCODE=$null\nls" + tail,
		},
	} {
		line, err := PowerShell(tc.program, tc.command, tc.dir, tc.env)
		start := tc.program + " -NoLogo -NoProfile -NonInteractive -OutputFormat Text -EncodedCommand "
		encoded, ok := strings.CutPrefix(line, start)
		if err != nil || !ok {
			t.Errorf("%s: line %q, %v, want it to begin with %q", tc.name, line, err, start)
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		units := make([]uint16, len(raw)/2)
		for i := range units {
			units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
		}
		if got := string(utf16.Decode(units)); got != psHead+tc.script {
			t.Errorf("%s: script %q, want %q", tc.name, got, psHead+tc.script)
		}
	}
	if line, err := PowerShell("powershell.exe", strings.Repeat("x", 3000), "", nil); err == nil {
		t.Errorf("a command of 3,000 characters makes a line of %d, want a refusal", len(line))
	}
}
