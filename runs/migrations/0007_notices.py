import common.ids
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_sharing")]

    operations = [
        migrations.CreateModel(
            name='NoticeChoice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ended', models.CharField(choices=[('long', 'When it took longer than 5 minutes'), ('always', 'Always'), ('never', 'Never')], default='long', max_length=10)),
                ('interrupted', models.BooleanField(default=True)),
                ('waiting', models.BooleanField(default=True)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='NoticeEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ('type', models.CharField(choices=[('run.ended', 'A run ended with every task worked'), ('run.interrupted', 'A run was interrupted, with tasks left'), ('run.waiting', 'A run waits for its provider'), ('webhook.test', 'A test')], max_length=20)),
                ('number', models.PositiveIntegerField(default=1)),
                ('body', models.TextField()),
                ('created_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('run', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='NoticeMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'Waiting'), ('sent', 'Sent'), ('dropped', 'Nobody to be told any more'), ('failed', 'Failed')], default='pending', max_length=10)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('next_try_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_error', models.CharField(blank=True, max_length=120)),
                ('sent_at', models.DateTimeField(null=True)),
                ('event', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='runs.noticeevent')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ('url', models.CharField(max_length=500)),
                ('description', models.CharField(blank=True, max_length=200)),
                ('events', models.JSONField(default=list)),
                ('is_enabled', models.BooleanField(default=True)),
                ('off_reason', models.CharField(blank=True, choices=[('person', 'Turned off'), ('gone', 'It answered 410 Gone'), ('failing', 'It failed for days')], max_length=10)),
                ('off_told_at', models.DateTimeField(null=True)),
                ('secret', models.TextField()),
                ('old_secret', models.TextField(blank=True)),
                ('old_secret_until', models.DateTimeField(null=True)),
                ('failing_since', models.DateTimeField(null=True)),
                ('last_delivered_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhook_endpoints', to='workspaces.workspace')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ('state', models.CharField(choices=[('pending', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='pending', max_length=10)),
                ('tries', models.PositiveIntegerField(default=0)),
                ('tries_before', models.PositiveIntegerField(default=0)),
                ('next_try_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_status', models.PositiveSmallIntegerField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('last_excerpt', models.CharField(blank=True, max_length=500)),
                ('latency_ms', models.PositiveIntegerField(null=True)),
                ('history', models.JSONField(default=list)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('event', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='runs.noticeevent')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspaces.workspace')),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='runs.webhookendpoint')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddConstraint(
            model_name='noticeevent',
            constraint=models.UniqueConstraint(fields=('run', 'type', 'number'), name='notice_event_once'),
        ),
        migrations.AddIndex(
            model_name='noticemail',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['next_try_at'], name='notice_mails_due'),
        ),
        migrations.AddConstraint(
            model_name='noticemail',
            constraint=models.UniqueConstraint(fields=('event', 'user'), name='notice_mail_once'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['workspace', '-id'], name='webhook_deliveries_listed'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['endpoint', '-id'], name='webhook_deliveries_of'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['next_try_at'], name='webhook_deliveries_due'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('event', 'endpoint'), name='webhook_delivery_once'),
        ),
    ]
