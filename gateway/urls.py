"""Pages of a workspace's own endpoints. A change of state is a sub-resource that takes POST."""

from django.urls import path

from gateway import views

app_name = "gateway"
urlpatterns = [
    path("connections", views.connections, name="connections"),
    path("connections/new", views.new_connection, name="new_connection"),
    path("connections/<uuid:connection_id>", views.connection, name="connection"),
    path("connections/<uuid:connection_id>/check", views.check, name="check"),
    path("connections/<uuid:connection_id>/key", views.key, name="key"),
    path("connections/<uuid:connection_id>/deletion", views.deletion, name="deletion"),
]
