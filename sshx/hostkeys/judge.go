package hostkeys

// known is what the files say about one host.
type known struct {
	record  lines // of the files that decide
	callers lines // of CallerFiles
}

// lines are those of one set of files about one host, by the name under which they were found.
type lines struct {
	name, bare, ip []entry
}

// read reads the files that decide, and those of the caller.
func (o *Options) read() (record, callers *database, err error) {
	if record, err = readDatabase(o.files()); err != nil {
		return nil, nil, err
	}
	callers, err = readDatabase(o.CallerFiles)
	return record, callers, err
}

// lines returns what the files say about the host.
func (v *Verifier) lines(record, callers *database) known {
	return known{record: record.lines(v.names), callers: callers.lines(v.names)}
}

func (db *database) lines(n hostNames) lines {
	found := db.lookup(n.name, n.bare, n.ip)
	return lines{name: found[0], bare: found[1], ip: found[2]}
}

// revoked returns the line that revokes the offered key or its authority, in whatever file it is.
func (k *known) revoked(o *offer) (Entry, bool) {
	r, c := &k.record, &k.callers
	for _, entries := range [][]entry{r.name, r.bare, r.ip, c.name, c.bare, c.ip} {
		for _, e := range entries {
			if e.Marker == Revoked && o.holds(e.key) {
				return e.Entry, true
			}
		}
	}
	return Entry{}, false
}

// standing is what the files say about a key.
type standing int

const (
	unheard   standing = iota // no line that could vouch for or contradict it
	confirmed                 // a line vouches for it
	changed                   // lines exist, with other keys
)

// judgement is the standing of an offered key, with its reasons.
type judgement struct {
	standing    standing
	entry       Entry   // confirmed: the line
	byCA        bool    // confirmed: the line is that of a certificate authority
	byBareName  bool    // confirmed: the line names the host without its port
	recorded    []Entry // changed: the lines
	byCaller    bool    // confirmed: the line is in one of CallerFiles, and the record has none
	certificate string  // why the certificate did not count; empty if it did, or there was none
	ip          standing
	ipRecorded  []Entry // ip changed: the lines
}

// judge compares the offer with the record, which decides, and then with the caller's files: they may contradict it, and
// vouch for a host of which nothing is on record if the floor allows.
func (v *Verifier) judge(k known, o *offer) judgement {
	j := k.record.judge(o, v.names.cert, v.o.CASignatureAlgorithms)
	if len(v.o.CallerFiles) == 0 || j.standing == changed || j.ip == changed {
		return j
	}
	switch c := k.callers.judge(o, v.names.cert, v.o.CASignatureAlgorithms); {
	case c.standing == changed || c.ip == changed:
		return c
	case j.standing == unheard && c.standing == confirmed && v.o.Floor >= AcceptNew:
		c.byCaller = true
		return c
	}
	return j
}

// judge compares the offer with the lines as OpenSSH does: the certificate first, then, as if the server had never sent
// one, its plain key; each under the name, then under the bare name. A plain key of whatever type on record under
// the name itself makes any other a changed one; under the bare name it does not, since another server may live there.
func (k *lines) judge(o *offer, principal string, caAlgorithms []string) judgement {
	var j judgement
	if o.cert != nil {
		j.certificate = "no @cert-authority line for this host has its authority"
		for _, entries := range [][]entry{k.name, k.bare} {
			ca, found := authority(entries, o)
			if !found {
				continue
			}
			if err := o.checkCert(principal, caAlgorithms); err != nil {
				j.certificate = err.Error()
				break
			}
			// An address is never checked against a certificate: it names hosts.
			return judgement{standing: confirmed, entry: ca, byCA: true}
		}
	}
	j.ip, _, j.ipRecorded = plain(k.ip, o)
	j.standing, j.entry, j.recorded = plain(k.name, o)
	if j.standing != unheard {
		return j
	}
	if s, e, _ := plain(k.bare, o); s == confirmed {
		j.standing, j.entry, j.byBareName = confirmed, e, true
	}
	return j
}

// authority returns the line of the certificate authority that signed the offer.
func authority(entries []entry, o *offer) (Entry, bool) {
	for _, e := range entries {
		if e.Marker == CertAuthority && sameKey(e.key, o.cert.SignatureKey) {
			return e.Entry, true
		}
	}
	return Entry{}, false
}

// plain compares the offered plain key with the ordinary lines.
func plain(entries []entry, o *offer) (standing, Entry, []Entry) {
	var others []Entry
	for _, e := range entries {
		if e.Marker != NoMarker {
			continue
		}
		if sameKey(e.key, o.key) {
			return confirmed, e.Entry, nil
		}
		others = append(others, e.Entry)
	}
	if others != nil {
		return changed, Entry{}, others
	}
	return unheard, Entry{}, nil
}
