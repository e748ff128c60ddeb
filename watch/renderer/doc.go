// Package renderer draws a terminal in a browser: it has a script that takes the patches of package frame, and the
// style of the rows. The watch page and the view in a chat are two pages around it.
//
//	http.Handle("/", http.FileServerFS(renderer.Files()))
//	page := "<style>" + renderer.Style() + "</style><script>" + renderer.Script() + "</script>"
//
// Promises:
//
//   - Text of a terminal reaches the document by textContent alone, and styles by properties of an element.
//   - The script loads nothing, stores nothing and sends nothing.
package renderer
