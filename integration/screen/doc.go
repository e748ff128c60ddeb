// Package screen compares the rendered screen with that of tmux, an emulator of others.
package screen
