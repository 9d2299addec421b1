import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { AiProvider } from './ai-provider.ts'

/** A further server of a provider: another address, or another key. */
export const ProviderServer = defineEntity({
  name: 'ProviderServer',
  tableName: 'provider_servers',
  properties: {
    id,
    ...timestamps,
    provider: () => p.manyToOne(AiProvider).deleteRule('cascade').index().ref(),
    apiUrl: p.string().length(2048),
    /** Sealed with the application key. */
    apiKey: p.text().nullable().hidden(),
    /** True if it is in the file that AI_CONFIG names. */
    fromFile: p.boolean().default(false),
  },
})
export type ProviderServer = InferEntity<typeof ProviderServer>
