import type { AiProvider } from '../../../entities/catalogue/ai-provider.ts'
import type { Issue } from '../../core/problems.ts'
import type { Settings } from '../../core/settings.ts'
import type { Change } from '../../verbs/write.ts'

type DemoSettings = Pick<Settings, 'servesDemo'>

/** The demo provider is no AI: where it is not served it may only be switched off and renamed. */
export function demoIssues({ servesDemo }: DemoSettings, row: Record<string, unknown>, change?: Change): Issue[] {
  const isChosen = !change || 'adapter' in change.given
  if (servesDemo || row['adapter'] !== 'demo' || !(isChosen || row['active'])) return []
  return [{ path: [isChosen ? 'adapter' : 'active'], message: 'production does not serve the demo model' }]
}

/** Switches off what was made where the demo provider is served; returns the names of those that were on. */
export function switchOffDemo({ servesDemo }: DemoSettings, providers: readonly AiProvider[]): string[] {
  const lost = servesDemo ? [] : providers.filter(({ adapter, active }) => adapter === 'demo' && active)
  for (const row of lost) row.active = false
  return lost.map(({ providerId }) => providerId)
}
