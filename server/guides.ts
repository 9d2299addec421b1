import type { Guide } from '../facades/docs/guides.ts'

/** The guides that the service shows at `/docs`; they are files of the repository. */
export const guides: readonly Guide[] = [
  { slug: 'surfaces', title: 'Surfaces', file: 'facades/README.md' },
  { slug: 'json-api', title: 'JSON:API', file: 'facades/json-api/README.md' },
  { slug: 'openai', title: "OpenAI's API", file: 'facades/openai/README.md' },
  { slug: 'anthropic', title: "Anthropic's API", file: 'facades/anthropic/README.md' },
  { slug: 'mcp', title: 'Tools over MCP', file: 'facades/mcp/README.md' },
  { slug: 'changes', title: 'Changes as they happen', file: 'facades/realtime/README.md' },
  { slug: 'client', title: 'Typed client', file: 'facades/client/README.md' },
  { slug: 'front-ends', title: 'Earlier front ends', file: 'facades/legacy/README.md' },
  { slug: 'apps', title: 'Apps', file: 'routers/apps/README.md' },
  { slug: 'programs', title: 'Sign-in for programs', file: 'routers/oauth/README.md' },
  { slug: 'sign-in', title: 'Signing in', file: 'server/login/README.md' },
  { slug: 'models', title: 'Models and tools', file: 'server/ai/README.md' },
  { slug: 'limits', title: 'Limits', file: 'routers/ai/limits/README.md' },
  { slug: 'assistants', title: 'Assistants', file: 'routers/assistants/README.md' },
  { slug: 'settings', title: 'Settings', file: 'server/config/README.md' },
  { slug: 'operate', title: 'Operate', file: 'server/README.md' },
  { slug: 'command-line', title: 'Command line', file: 'cli/README.md' },
  { slug: 'extend', title: 'Extend', file: 'routers/core/README.md' },
]
