/* A program to debug: it has symbols, a branch, and an exit code of its own. */
#include <stdio.h>
#include <string.h>

static int check(const char *word) { return strcmp(word, "open sesame") == 0; }

int main(int argc, char **argv) {
	const char *word = argc > 1 ? argv[1] : "";
	if (check(word)) {
		puts("access granted");
		return 0;
	}
	puts("access denied");
	return 7;
}
