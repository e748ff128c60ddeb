// Package screen compares the rendered screen with those of two emulators of others, tmux and xterm.js.
package screen
