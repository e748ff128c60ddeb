package marker

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// maxCmdLine is the most characters of a line that cmd.exe takes, which runs the commands of sshd unless DefaultShell says
// otherwise ("Command prompt line string limitation").
const maxCmdLine = 8191

// PowerShell returns the line that has PowerShell run a command, whichever shell reads the line: the command is in Base64
// (-EncodedCommand, UTF-16LE). program is powershell.exe or pwsh. dir is where the command runs, and env its variables, as
// NAME=value; both may be empty.
//
// The output is UTF-8, and so is the input of programs from a pipe. The exit status is that of the last program, else
// 0 or 1 for the success of the last command. It follows Microsoft's documentation (about_PowerShell_exe,
// about_Character_Encoding, about_Automatic_Variables), and was never tried on a real PowerShell. An error means that
// the line would be too long for cmd.exe.
func PowerShell(program, command, dir string, env []string) (string, error) {
	var script strings.Builder
	// Progress would be written to stderr as XML.
	script.WriteString("$ProgressPreference='SilentlyContinue'\n" +
		"$OutputEncoding=[Console]::OutputEncoding=New-Object System.Text.UTF8Encoding $false\n")
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&script, "Set-Item -LiteralPath (%s) -Value (%s)\n", psQuoted("Env:"+name), psQuoted(value))
	}
	if dir != "" {
		fmt.Fprintf(&script, "Set-Location -LiteralPath (%s) -ErrorAction Stop\n", psQuoted(dir))
	}
	// On lines of its own, so that a comment in the command ends before the next line.
	script.WriteString("$LASTEXITCODE=$null\n" + command + "\nexit " + psStatus)
	line := program + " -NoLogo -NoProfile -NonInteractive -OutputFormat Text -EncodedCommand " + utf16Base64(script.String())
	if len(line) > maxCmdLine {
		return "", fmt.Errorf("the command is too long for the line of cmd.exe: %d characters in Base64, at most %d; "+
			"copy it there as a file, and run that", len(line), maxCmdLine)
	}
	return line, nil
}

// psStatus is the exit status of the previous command: of the last program, or 0 and 1 for the success of anything
// else.
const psStatus = `$(if($?){if($LASTEXITCODE -ne $null){$LASTEXITCODE}else{0}}else{if($LASTEXITCODE){$LASTEXITCODE}else{1}})`

// utf16Base64 returns a text as -EncodedCommand takes it.
func utf16Base64(text string) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, c)
	}
	return base64.StdEncoding.EncodeToString(b)
}
