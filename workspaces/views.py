from django.shortcuts import render


def current(request): ...
def account(request): return render(request, "workspaces/account.html")
workspace = members = api_keys = account
