"""Staff's view of payments: read only, but for refunding one with a reason and trying a failed event again."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from unfold.decorators import action, display

from billing.enums import RefundStatus
from billing.models import Dispute, Payment, Refund, StripeEvent, TopUp
from billing.payments.events import retry_event
from billing.payments.forms import RefundForm
from billing.payments.refunds import refund_payment
from billing.payments.taking_back import money_left
from common.admin import LargeReadOnlyAdmin, ReadOnlyAdmin, ReadOnlyInline, usd_column
from common.errors import Refused
from common.forms import add_refusal
from common.ids import new_id
from common.money import format_usd
from workspaces.actors import actor_of_user


class RefundInline(ReadOnlyInline):
    model = Refund
    fields = ["created_at", "status", "amount", "credit", "taken", "reason", "actor_label"]
    readonly_fields = ["amount", "credit", "taken"]
    amount = usd_column("amount_microusd", "Money")
    credit = usd_column("credit_microusd", "Credit")
    taken = usd_column("taken_microusd", "Taken")


class DisputeInline(ReadOnlyInline):
    model = Dispute
    fields = ["opened_at", "status", "credit", "reason", "closed_at"]
    readonly_fields = ["credit"]
    credit = usd_column("credit_microusd", "Credit")


@admin.register(Payment)
class PaymentAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "workspace", "kind", "status", "credit", "fee", "actor_label", "paid_at", "failure"]
    list_filter = ["status", "kind", "created_at"]
    list_select_related = ["wallet__workspace"]
    search_fields = ["public_id", "stripe_session_id", "stripe_intent_id", "wallet__workspace__name", "actor_label"]
    search_help_text = "An ID of ours or of Stripe's, a workspace, or who bought"
    ordering = ["-id"]
    exclude = ["credit_microusd", "fee_microusd"]
    readonly_fields = ["public_id", "credit", "fee"]
    inlines = [RefundInline, DisputeInline]
    actions_detail = ["refund"]
    credit = usd_column("credit_microusd", "Credit")
    fee = usd_column("fee_microusd", "Fee")

    @display(description="Workspace", ordering="wallet__workspace__name")
    def workspace(self, payment: Payment) -> str:
        return payment.wallet.workspace.name

    def has_refund_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Whoever may add refunds may refund."""
        return request.user.has_perm("billing.add_refund")

    @action(description="Refund", url_path="refund", permissions=["refund"])
    def refund(self, request: HttpRequest, object_id: int) -> HttpResponse:
        payment = get_object_or_404(self.get_queryset(request).select_related("wallet__workspace"), pk=object_id)
        left = format_usd(money_left(payment))
        form = RefundForm(request.POST or None, initial={"amount": left.removeprefix("$"), "key": str(new_id())})
        back = reverse("admin:billing_payment_change", args=[payment.pk])
        if request.method == "POST" and form.is_valid():
            try:
                made = refund_payment(
                    payment,
                    actor=actor_of_user(request.user),  # type: ignore[arg-type]
                    amount_microusd=form.cleaned_data["amount"],
                    reason=form.cleaned_data["reason"],
                    key=form.cleaned_data["key"],
                )
            except Refused as refused:
                add_refusal(form, refused.message)
            else:
                done = made.status == RefundStatus.DONE
                told = "refunded." if done else "are on their way; Stripe is asked again until it is known what became of it."
                messages.success(request, f"{format_usd(made.amount_microusd)} {told}")
                return HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Refund {payment.wallet.workspace}: at most {left}",
            "form": form,
            "back": back,
            "button": "Refund",
            "opts": self.opts,
        }
        return render(request, "billing/admin_grant.html", context, status=422 if form.errors else 200)


@admin.register(Refund)
class RefundAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "payment", "status", "amount", "credit", "taken", "reason", "actor_label"]
    list_filter = ["status", "created_at"]
    list_select_related = ["payment"]
    search_fields = ["public_id", "stripe_refund_id", "payment__public_id", "payment__wallet__workspace__name"]
    ordering = ["-id"]
    exclude = ["amount_microusd", "credit_microusd", "taken_microusd"]
    readonly_fields = ["public_id", "amount", "credit", "taken"]
    amount = usd_column("amount_microusd", "Money")
    credit = usd_column("credit_microusd", "Credit")
    taken = usd_column("taken_microusd", "Taken")


@admin.register(Dispute)
class DisputeAdmin(ReadOnlyAdmin):
    list_display = ["opened_at", "payment", "status", "credit", "reason", "closed_at"]
    list_filter = ["status", "opened_at"]
    list_select_related = ["payment"]
    search_fields = ["stripe_dispute_id", "payment__public_id", "payment__wallet__workspace__name"]
    ordering = ["-id"]
    exclude = ["credit_microusd"]
    readonly_fields = ["credit"]
    credit = usd_column("credit_microusd", "Credit")


@admin.register(StripeEvent)
class StripeEventAdmin(LargeReadOnlyAdmin):
    list_display = ["received_at", "type", "state", "tries", "next_try_at", "last_error", "event_id", "object_id"]
    list_filter = ["state", "type"]
    search_fields = ["event_id", "object_id"]
    search_help_text = "The ID of an event, or of what it is about"
    ordering = ["-id"]
    actions = ["try_again"]

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Whoever may change events may have them tried again."""
        return request.user.has_perm("billing.change_stripeevent")

    @admin.action(description="Try again", permissions=["retry"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[StripeEvent]) -> None:
        actor, again = actor_of_user(request.user), 0  # type: ignore[arg-type]
        for event in queryset:
            try:
                retry_event(event, actor=actor)
                again += 1
            except Refused as refused:
                messages.warning(request, f"{event.event_id}: {refused.message}")
        if again:
            messages.success(request, f"{again} will be tried again.")


@admin.register(TopUp)
class TopUpAdmin(ReadOnlyAdmin):
    list_display = ["workspace", "is_enabled", "threshold", "amount", "monthly_limit", "card_label", "failures", "last_failure"]
    list_filter = ["is_enabled"]
    list_select_related = ["wallet__workspace"]
    search_fields = ["wallet__workspace__name"]
    ordering = ["-id"]
    exclude = ["threshold_microusd", "amount_microusd", "monthly_limit_microusd"]
    readonly_fields = ["threshold", "amount", "monthly_limit"]
    threshold = usd_column("threshold_microusd", "Below")
    amount = usd_column("amount_microusd", "Buys")
    monthly_limit = usd_column("monthly_limit_microusd", "At most a month")

    @display(description="Workspace", ordering="wallet__workspace__name")
    def workspace(self, top_up: TopUp) -> str:
        return top_up.wallet.workspace.name
