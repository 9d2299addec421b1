import type { FastifyBaseLogger } from 'fastify'
import type { ReachedLimit } from '../../entities/ai/usage-commit.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { HookRegistry } from '../../routers/core/hooks.ts'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import type { AiServices } from '../../routers/core/services.ts'
import type { FileStore } from '../../routers/ports/files/file-store.ts'
import type { Metrics } from '../../routers/ports/metrics.ts'
import type { Vault } from '../../routers/ports/vault.ts'
import { createPromptFiles } from '../../routers/rooms/attachments/prompt-files.ts'
import { createGateway } from '../ai/gateway.ts'
import { OutageReports } from '../ai/outage-reports.ts'
import { readModelConfig, readModelOrigins } from '../config/ai-config.ts'
import { readLimits } from '../config/config-file.ts'
import type { Env } from '../config/settings.ts'
import { AccountNetwork } from '../mcp/account-network.ts'
import { AccountSecrets } from '../mcp/account-secrets.ts'
import { AccountTokens } from '../mcp/account-tokens.ts'
import { ConnectedToolServers } from '../mcp/tool-servers.ts'
import { createCallWatch } from '../stores/call-watch.ts'
import { createCallableAssistants } from '../stores/callable-assistants.ts'
import { createCallableModels } from '../stores/callable-models.ts'
import { LimitCache } from '../stores/usage/limit-cache.ts'
import { ToolCallCounter } from '../stores/usage/tool-limits.ts'
import { createToolUses } from '../stores/usage/tool-uses.ts'
import { createUsageLedger } from '../stores/usage/usage-ledger.ts'

interface AiServiceOptions {
  env: Env
  sql: Sql
  log: FastifyBaseLogger
  vault: Vault
  hooks: HookRegistry
  metrics: Metrics
  attachments: FileStore
  /** Public address of this service. */
  baseUrl: string
}

export interface AiParts {
  /** All but what asks models by the procedures, which need the services. */
  services: Omit<AiServices, 'embed'>
  outageReports: OutageReports
  /** Writes the usage that is not written yet. */
  flush(): Promise<void>
  close(): Promise<unknown>
}

/** Creates the services that look up and call models, run their tools and record usage. */
export function createAiServices(options: AiServiceOptions): AiParts {
  const { env, sql, log, vault, hooks, metrics, attachments, baseUrl } = options
  const outageReports = new OutageReports(log, metrics)
  const models = createGateway({ vault, log, outages: outageReports })
  const limits = new LimitCache(sql)
  const onReached = createLimitReporter(hooks, log)
  const usageLedger = createUsageLedger({ sql, limits, log, onReached })
  const toolUses = createToolUses(sql, log)
  const callWatch = createCallWatch(sql, log)
  const configReaders = createConfigReaders(env)
  const accounts = createToolAccounts({ env, sql, log, vault, baseUrl })
  const toolServers = new ConnectedToolServers({
    vault,
    accounts: accounts.tokens,
    readConfig: async () => (await configReaders.modelConfig()).mcpServers,
    path: env.variables['PATH'],
    timeout: env.AI_TOOL_TIMEOUT,
    maxResult: env.AI_TOOL_RESULT_MAX,
  })
  const callableModels = createCallableModels(sql)
  const callableAssistants = createCallableAssistants(sql)
  const promptFiles = createPromptFiles({ sql, vault, attachments })
  return {
    services: {
      models,
      callableModels,
      callableAssistants,
      toolServers,
      toolAccounts: accounts.authorization,
      toolUses,
      toolLimits: new ToolCallCounter({ sql, limits, onReached }),
      callWatch,
      usageLedger,
      promptFiles,
      ...configReaders,
    },
    outageReports,
    async flush() {
      await Promise.all([usageLedger.close(), toolUses.flush()])
    },
    close: () => Promise.all([models.close(), toolServers.close(), accounts.close()]),
  }
}

type AccountOptions = Pick<AiServiceOptions, 'env' | 'sql' | 'log' | 'vault' | 'baseUrl'>

/** Creates what connects people's own accounts at tool servers, and finds their tokens. */
function createToolAccounts({ env, sql, log, vault, baseUrl }: AccountOptions) {
  const network = new AccountNetwork(env.NODE_ENV === 'development')
  const secrets = new AccountSecrets(vault)
  const authorization = lazyPromise(async () => {
    const { AccountAuthorization } = await import('../mcp/account-authorization.ts')
    return new AccountAuthorization({ network, secrets, log, baseUrl, siteName: env.SITE_NAME ?? env.BRAND })
  })
  const tokens = new AccountTokens({ sql, secrets, authorization, baseUrl })
  return { tokens, authorization, close: () => network.close() }
}

/** Creates the readers of the files that configure models and limits; each call reads the file again. */
const createConfigReaders = (env: Env): Pick<AiServices, 'limitsConfig' | 'modelConfig' | 'modelOrigins'> => ({
  limitsConfig: () => readLimits(env.LIMITS, env.variables),
  modelConfig: () => readModelConfig(env.AI_CONFIG, env.variables, { demo: env.NODE_ENV !== 'production' }),
  modelOrigins: () => readModelOrigins(env.AI_CONFIG, env.variables, { demo: env.NODE_ENV !== 'production' }),
})

/** Creates a function that logs a reached usage limit and emits it to extensions. */
const createLimitReporter = (hooks: HookRegistry, log: FastifyBaseLogger) => (reached: ReachedLimit) => {
  log.info(reached, `a usage limit is used up to ${reached.percent} percent`)
  hooks.emit('usage-limit-reached', reached)
}
