// Package kpty offers the tool k_pty, with the contract of the PTY daemon of Kuroryuu: one tool whose actions spawn a
// shell on this machine, type into it, read it, run commands in it, and end it.
//
// It is a thin layer over sessions, and knows sessions of the other tools too. What it adds of its own is the shell that
// is started when none is named, the places up to which k_pty has read each session, and the form of answers and failures.
package kpty
