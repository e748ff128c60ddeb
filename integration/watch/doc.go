// Package watch tests the watch page as a person uses it: the built program serves it, and a real browser, Chromium,
// shows it.
package watch
