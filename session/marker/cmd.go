package marker

import (
	"fmt"
	"strings"
)

// cmdLine is Line for cmd.exe, which prints no control characters: only the ASCII marker is used. The caret keeps the
// echo apart from the printed text.
//
// "(call )" sets the error level to 0, so that a command that sets none does not report the one before. The parentheses
// keep "if" and "for" from taking the end marker for a part of theirs. CmdProblem must have found nothing. Tried on the
// cmd.exe of Wine 8 alone.
func cmdLine(m Marker, command string) string {
	return fmt.Sprintf(
		`(call )& echo S^=%s& (%s)& call echo PTYCTL_RC_%s^=%%^errorlevel%%:END_%s`,
		m.nonce,
		command,
		m.nonce,
		m.nonce,
	)
}

// CmdProblem says why cmd.exe would not come to the end marker after a command, or would run a part of it as a command of
// its own; empty: it comes there.
func CmdProblem(command string) string {
	s := cmdScanner{text: command, begins: true}
	for s.problem == "" && s.at < len(s.text) {
		s.step()
	}
	switch {
	case s.problem != "":
		return s.problem
	case s.quoted:
		return "a quotation mark is not closed"
	case len(s.open) > 0:
		return "a parenthesis is not closed"
	}
	return ""
}

// A cmdScanner goes through a command as cmd.exe reads it: quotation marks switch the meaning of all other characters off,
// a caret that of the next one.
type cmdScanner struct {
	text    string
	at      int
	quoted  bool
	begins  bool   // a command begins here
	block   bool   // a parenthesis here begins a block: of if, for or else
	open    []bool // the parentheses that are open: with commands in them, or with the set of a for
	problem string
}

func (s *cmdScanner) step() {
	c := s.text[s.at]
	switch {
	case c == '"':
		s.quoted = !s.quoted
		s.plain()
	case s.quoted:
		s.at++
	case c == '^':
		if s.at++; s.at == len(s.text) {
			s.problem = "a caret at the end takes the next line for a part of the command"
			return
		}
		s.plain()
	case c == '&' || c == '|':
		s.at++
		s.begins, s.block = true, false
	case c == '(':
		if !s.begins && !s.block {
			s.problem = "a parenthesis in an argument ends the line too early; write ^( and ^), or put it in quotation marks"
			return
		}
		s.open = append(s.open, s.begins)
		s.at++
		s.begins = true
	case c == ')':
		if len(s.open) == 0 {
			s.problem = "a parenthesis is closed that was not opened; write ^), or put it in quotation marks"
			return
		}
		s.open = s.open[:len(s.open)-1]
		s.at++
		s.begins, s.block = false, true // else, do
	case strings.IndexByte(" \t,;=@", c) >= 0:
		s.at++
	case c == ':' && s.begins:
		s.problem = "a label takes the rest of the line for itself"
	default:
		s.word()
	}
}

// plain passes one character that has no meaning.
func (s *cmdScanner) plain() {
	s.at++
	s.begins = false
}

// word passes a word.
func (s *cmdScanner) word() {
	end := s.at
	for end < len(s.text) && strings.IndexByte("\"^&|() \t,;=@:/.+[]\\<>", s.text[end]) < 0 {
		end++
	}
	word := strings.ToLower(s.text[s.at:end])
	s.at = max(end, s.at+1)
	switch {
	case word == "rem" && (s.begins || s.block):
		s.problem = "rem takes the rest of the line for itself"
	case s.begins && (word == "if" || word == "for"):
		s.begins, s.block = false, true
	case s.block && (word == "else" || word == "do"):
		s.begins = true
	default:
		s.begins = false
	}
}
