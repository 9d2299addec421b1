import { ignored, label } from '../ai/members.ts'

/** Words of the caller about a request, which both APIs have: they go no further. */
export const labels = {
  user: label('the provider is told nothing of who asks'),
  safety_identifier: label('the provider is told nothing of who asks'),
  metadata: label('nothing is kept that it could mark'),
  prompt_cache_key: label('the provider decides what it caches'),
  prompt_cache_options: label('the provider decides what it caches'),
  prompt_cache_retention: label('the provider decides what it caches'),
  service_tier: ignored('the contract with the provider decides', 'auto', 'default'),
  client_metadata: label('nothing is kept that it could mark'),
}
