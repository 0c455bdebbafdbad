"""Addresses of the pages of tools, tables, secrets and the console."""

from django.urls import URLPattern, path

from training.authoring.toolbox import console_views, secret_pages, server_views, table_views, tool_views

urlpatterns: list[URLPattern] = [
    path("agents/<int:agent_id>/tools/", tool_views.page, name="tools"),
    path("agents/<int:agent_id>/tools/new/<str:kind>/", tool_views.add, name="add_tool"),
    path("agents/<int:agent_id>/tools/mcp/", server_views.ask, name="ask_mcp"),
    path("agents/<int:agent_id>/tools/mcp/<int:errand_id>/", server_views.offered, name="mcp_tools"),
    path("agents/<int:agent_id>/tools/mcp/<int:errand_id>/take/", server_views.take, name="take_mcp"),
    path("agents/<int:agent_id>/tools/upload/", table_views.upload, name="upload_table"),
    path("tables/<int:table_id>/", table_views.table, name="table"),
    path("tables/<int:table_id>/read/", table_views.reread, name="reread_table"),
    path("tables/<int:table_id>/writes/", table_views.writes, name="table_writes"),
    path("tables/<int:table_id>/remove/", table_views.remove, name="remove_table"),
    path("tables/<int:table_id>/restore/", table_views.restore, name="restore_table"),
    path("tools/<int:tool_id>/", tool_views.tool, name="tool"),
    path("tools/<int:tool_id>/parameters/", tool_views.parameters, name="tool_parameters"),
    path("tools/<int:tool_id>/remove/", tool_views.remove, name="remove_tool"),
    path("tools/<int:tool_id>/restore/", tool_views.restore, name="restore_tool"),
    path("tools/<int:tool_id>/move/", tool_views.move, name="move_tool"),
    path("tools/<int:tool_id>/call/", console_views.call, name="call_tool"),
    path("tools/<int:tool_id>/calls/", console_views.results, name="tool_calls"),
    path("tools/<int:tool_id>/tests/", console_views.run_tests, name="test_tool"),
    path("calls/<int:call_id>/keep/", console_views.keep, name="keep_call"),
    path("secrets/", secret_pages.page, name="secrets"),
    path("secrets/new/", secret_pages.add, name="add_secret"),
    path("secrets/undo/", secret_pages.undo, name="undo_secret"),
    path("secrets/<int:secret_id>/replace/", secret_pages.replace, name="replace_secret"),
    path("secrets/<int:secret_id>/delete/", secret_pages.delete, name="delete_secret"),
]
