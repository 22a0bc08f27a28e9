import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    dependencies = [("runs", "0004_recorded_subjects")]

    operations = [
        migrations.CreateModel(
            name='ResultGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=common.ids.new_id, editable=False, unique=True)),
                ('kind', models.CharField(choices=[('started_together', 'Started together'), ('from_results', 'From results'), ('comparison', 'Comparison over HTTP')], max_length=20)),
                ('name', models.CharField(blank=True, max_length=160)),
                ('baseline', models.PositiveSmallIntegerField(default=0)),
                ('decision', models.CharField(blank=True, max_length=12)),
                ('document', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('api_key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='workspaces.apikey')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='result_groups', to='workspaces.workspace')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='GroupMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.PositiveSmallIntegerField()),
                ('result_sha256', models.CharField(max_length=64)),
                ('label', models.CharField(max_length=240)),
                ('profile_id', models.CharField(max_length=200)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='runs.resultgroup')),
                ('result', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.resultversion')),
            ],
            options={
                'ordering': ['group_id', 'index'],
            },
        ),
        migrations.AddIndex(
            model_name='resultgroup',
            index=models.Index(fields=['workspace', '-id'], name='result_group_newest'),
        ),
        migrations.AddConstraint(
            model_name='groupmember',
            constraint=models.UniqueConstraint(fields=('group', 'index'), name='group_member_once'),
        ),
    ]
