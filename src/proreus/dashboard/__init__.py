"""The web page that shows a cluster: login, sessions and the page's way to the API server.

    browser → /dashboard/ → page_files                 the page itself, the same for everybody
            → /dashboard/login, logout, session → sessions, login_codes
            → /dashboard/api/… → policy → forwarding → the API server, as the session's user

It speaks to the API server over the wire alone, with the credentials of whoever logged in, so that
it can do nothing that they could not. ``dashboard`` is where requests arrive.
"""
