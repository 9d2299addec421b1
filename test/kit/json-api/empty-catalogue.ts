import type { TestApp } from '../app.ts'

/** Deletes providers, models, tools and their servers, so that the next test of a shared service begins with none. */
export async function emptyCatalogue(svc: TestApp): Promise<void> {
  for (const table of ['system_models', 'ai_models', 'ai_tools', 'mcp_servers']) await svc.rows(`delete from ${table}`)
  await svc.changeCatalogue('delete from ai_providers')
}
