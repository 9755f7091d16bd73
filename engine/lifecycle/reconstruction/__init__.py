"""Knowledge is made anew from the sessions on a branch, compared, and taken over (spec 8.7, 10.4)."""
