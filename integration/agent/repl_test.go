package agent

import (
	"fmt"
	"strings"
)

// gdb finds the values with which a program crashes. They are other ones in each run, so that the one that has crashed
// must be kept and asked.
var gdb = task{
	name: "gdb",
	prepare: func(w *world) {
		w.folder(ops + "/orders")
		w.file(ops+"/orders/orders.c", "644", `#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct order { unsigned id; int cents; struct order *next; };

static int price(struct order *o) {
	int discount = o->id % 5;
	return o->next->cents - discount;
}

static int sum(unsigned seed) {
	struct order last = {seed, 4711, NULL};
	struct order first = {1, 990, &last};
	int lines = seed % 7 + 3;
	return price(first.next) * lines;
}

int main(void) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	unsigned seed = now.tv_nsec ^ 0x5eed;
	FILE *f = fopen("/run/lab/home/ops/orders/truth", "w");
	fprintf(f, "%u %u\n", seed, seed % 7 + 3);
	fclose(f);
	printf("%d\n", sum(seed));
	return 0;
}
`)
		w.run("cd /run/lab/home/ops/orders; gcc -g -O0 -o orders orders.c; chown -R ops: .")
		w.answers["crash"] = ""
	},
	ptyctl: func(w *world, p *ptyctl) {
		const gdb = `\(gdb\) $`
		r := p.begin("web1", []step{line("cd orders && gdb -q ./orders", gdb), line("run", gdb), line("bt", gdb)},
			"SIGSEGV", `price \(o=0x`)
		id := r.SessionID
		r = p.steps(id, []step{line("list price", gdb), line("print *o", gdb)})
		order := field(p.t, r.Chunk, `\{id = (\d+)`)
		r = p.steps(id, []step{line("up", gdb), line("info locals", gdb), typed("quit"), typed("y")})
		w.answers["crash"] = order + " " + field(p.t, r.Chunk, `lines = (\d+)`)
	},
	bash: func(w *world, b *bash) {
		b.start("g", `ssh -t web1 "cd orders && gdb -q ./orders"`, `\(gdb\)$`)
		b.keys("g", `\(gdb\)$`, []string{"run", "Enter", "bt", "Enter"}, "SIGSEGV")
		r := b.keys("g", `\(gdb\)$`, []string{"list price", "Enter", "print *o", "Enter"})
		order := field(b.t, r, `\{id = (\d+)`)
		r = b.run(press("g", "up", "Enter", "info locals", "Enter") + "; " + wait("g", `\(gdb\)$`) + "; " + look("g") + "; " +
			press("g", "quit", "Enter", "y", "Enter"))
		w.answers["crash"] = order + " " + field(b.t, r, `lines = (\d+)`)
	},
	done: func(w *world) string {
		if got := w.run("cat " + ops + "/orders/truth"); got != w.answers["crash"] {
			return "the program crashed with " + got + ", and the answer is " + w.answers["crash"]
		}
		return ""
	},
}

// python works in a Python process with state that a second run would lack: an open lease.
var python = task{
	name: "python",
	prepare: func(w *world) {
		w.folder(ops + "/lease")
		w.file(ops+"/lease/shell", "755", `#!/bin/sh
cd "$(dirname "$0")" && exec /usr/bin/python3 -q -i shell.py
`)
		w.file(ops+"/lease/shell.py", "644", `import collections, secrets

Seat = collections.namedtuple("Seat", "row number price")

class Lease:
    def __init__(self):
        self.token = secrets.token_hex(4)
        self.seats = [Seat("ABC"[n % 3], n, 40 + 5 * n) for n in range(14)]
        self.seats[8] = Seat("C", 8, -80)

    def save(self, word):
        if word != self.token:
            raise ValueError("not the word of this lease")
        with open("saved", "w") as f:
            print(self.token, sum(s.price for s in self.seats), file=f)
        return self.token

lease = Lease()
`)
	},
	ptyctl: func(w *world, p *ptyctl) {
		const more = `>>> $`
		id := p.begin("web1", []step{
			line("lease/shell", more), line("[n for n in dir(lease) if n[0] != '_']", more),
		}, "save", "seats").SessionID
		p.steps(id, []step{line("print(*lease.seats, sep='\\n')", more)}, `row='C', number=8, price=-80`)
		p.steps(id, []step{line("import inspect; print(inspect.getsource(Lease.save))", more)}, "word != self.token")
		r := p.steps(id, []step{
			line("lease.seats[8] = lease.seats[8]._replace(price=80)", more), line("sum(s.price for s in lease.seats)", more),
			line("lease.token", more),
		}, `(?m)^1015$`)
		w.answers["token"] = field(p.t, r.Chunk, `'([0-9a-f]{8})'`)
		p.steps(id, []step{line("lease.save('"+w.answers["token"]+"')", more), command("exit()")}, w.answers["token"])
	},
	bash: func(w *world, b *bash) {
		b.start("p", "ssh -t web1 lease/shell", `>>>$`)
		b.keys("p", `>>>$`, []string{"[n for n in dir(lease) if n[0] != '_']", "Enter"}, "save")
		b.keys("p", `>>>$`, []string{"print(*lease.seats, sep='\\n')", "Enter"}, `price=-80`)
		b.keys("p", `>>>$`, []string{"import inspect; print(inspect.getsource(Lease.save))", "Enter"}, "word != self.token")
		r := b.keys("p", `>>>$`, []string{
			"lease.seats[8] = lease.seats[8]._replace(price=80)", "Enter", "sum(s.price for s in lease.seats)", "Enter",
			"lease.token", "Enter",
		}, `(?m)^1015$`)
		w.answers["token"] = field(b.t, r, `'([0-9a-f]{8})'`)
		save := "lease.save('" + w.answers["token"] + "')"
		b.run(press("p", save, "Enter")+"; "+wait("p", `>>>$`)+"; "+look("p")+"; "+press("p", "exit()", "Enter"),
			w.answers["token"])
	},
	done: func(w *world) string {
		if got := w.run("cat " + ops + "/lease/saved || true"); got != w.answers["token"]+" 1015" {
			return "the lease was saved as " + got
		}
		return ""
	},
}

// sqlite changes rows in a transaction, and takes wrong changes back before it commits.
var sqlite = task{
	name: "sqlite3",
	prepare: func(w *world) {
		w.folder(ops + "/stock")
		var rows []string
		for i := range 16 {
			rows = append(rows, fmt.Sprintf("('part %d', '%c%d', %d)", i+1, 'A'+i/6, i%3+1, 10*i+5))
		}
		w.run(`cd /run/lab/home/ops/stock; sqlite3 stock.db <<'end'
CREATE TABLE part(id INTEGER PRIMARY KEY, name TEXT NOT NULL, place TEXT NOT NULL, count INTEGER);
CREATE TABLE move(id INTEGER PRIMARY KEY, part INTEGER REFERENCES part(id), place TEXT, at TEXT);
INSERT INTO part(name, place, count) VALUES ` + strings.Join(rows, ", ") + `;
end
chown -R ops: .`)
	},
	ptyctl: func(w *world, p *ptyctl) {
		const more = `sqlite> $`
		id := p.begin("web1", []step{line("sqlite3 stock/stock.db", more), line(".schema", more)},
			"CREATE TABLE part").SessionID
		p.steps(id, []step{line("SELECT * FROM part;", more)}, `16\|part 16\|C1\|155`)
		p.steps(id, []step{
			line("BEGIN;", more), line("UPDATE part SET place = 'D1' WHERE place LIKE '%1';", more),
			line("SELECT id, name, place FROM part WHERE place = 'D1';", more),
		}, `13\|part 13\|D1`)
		p.steps(id, []step{
			line("ROLLBACK;", more), line("BEGIN;", more), line("UPDATE part SET place = 'D1' WHERE place = 'A1';", more),
			line("SELECT changes(), group_concat(id) FROM part WHERE place = 'D1';", more),
		}, `2\|1,4`)
		p.steps(id, []step{line("COMMIT;", more), command(".quit")})
	},
	bash: func(w *world, b *bash) {
		b.start("q", "ssh -t web1 sqlite3 stock/stock.db", `sqlite>$`)
		b.keys("q", `sqlite>$`, []string{".schema", "Enter"}, "CREATE TABLE part")
		b.keys("q", `sqlite>$`, []string{"SELECT * FROM part;", "Enter"}, `16\|part 16\|C1\|155`)
		b.keys("q", `sqlite>$`, []string{
			"BEGIN;", "Enter", "UPDATE part SET place = 'D1' WHERE place LIKE '%1';", "Enter",
			"SELECT id, name, place FROM part WHERE place = 'D1';", "Enter",
		}, `13\|part 13\|D1`)
		b.keys("q", `sqlite>$`, []string{
			"ROLLBACK;", "Enter", "BEGIN;", "Enter", "UPDATE part SET place = 'D1' WHERE place = 'A1';", "Enter",
			"SELECT changes(), group_concat(id) FROM part WHERE place = 'D1';", "Enter",
		}, `2\|1,4`)
		b.run(press("q", "COMMIT;", "Enter", ".quit", "Enter") + "; sleep 0.5")
	},
	done: func(w *world) string {
		got := w.run("sqlite3 " + ops + "/stock/stock.db \"SELECT group_concat(id) FROM part WHERE place = 'D1'\"")
		if strings.TrimSpace(got) != "1,4" {
			return "the parts that were moved are " + got
		}
		return ""
	},
}
