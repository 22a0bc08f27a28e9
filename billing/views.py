from django.shortcuts import render


def wallet(request): return render(request, "workspaces/account.html")
