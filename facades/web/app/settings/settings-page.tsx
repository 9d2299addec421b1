import { Link } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { AppearanceSettings } from './appearance-settings.tsx'
import { DataSettings } from './data-settings.tsx'
import { LinkedAppSettings } from './linked-app-settings.tsx'
import { ProfileSettings } from './profile-settings.tsx'
import { SecuritySettings } from './security-settings.tsx'
import { SessionSettings } from './session-settings.tsx'
import { TokenSettings } from './token-settings.tsx'
import { UsageSettings } from './usage-settings.tsx'
import '../shared/ui/sections.css'
import './settings.css'

interface Section {
  label: string
  Content: ComponentType
}

/** The sections by their addresses. */
const sections: Record<string, Section> = {
  profile: { label: 'app.settings.profile', Content: ProfileSettings },
  security: { label: 'app.settings.security', Content: SecuritySettings },
  tokens: { label: 'app.settings.tokens', Content: TokenSettings },
  apps: { label: 'app.settings.apps', Content: LinkedAppSettings },
  usage: { label: 'app.settings.usage', Content: UsageSettings },
  data: { label: 'app.settings.data', Content: DataSettings },
  sessions: { label: 'app.settings.sessions', Content: SessionSettings },
  appearance: { label: 'app.settings.appearance', Content: AppearanceSettings },
}

/** The settings of a person. */
export function SettingsPage({ section }: { section: string }) {
  const { isLocked } = useSession()
  const { label = 'app.settings', Content } = sections[section] ?? {}
  usePageTitle(t(label))
  return (
    <main id="main" className="sections-page settings">
      <PageHead>
        <h1>{t('app.settings')}</h1>
      </PageHead>
      <div className="settings-body">
        <nav className="section-links settings-sections" aria-label={t('app.settings.sections')}>
          {Object.entries(sections).map(([name, { label: text }]) => (
            <Link key={name} to="/settings/$section" params={{ section: name }}>
              {t(text)}
            </Link>
          ))}
        </nav>
        {isLocked && (
          <p className="notice">
            {t('app.settings.locked')} <a href={getUnlockUrl(section)}>{t('app.settings.unlock')}</a>
          </p>
        )}
        {Content ? <Content /> : <p className="notice wrong">{t('app.error.not_found')}</p>}
      </div>
    </main>
  )
}

const getUnlockUrl = (section: string) => `/handshake?redirectUri=${encodeURIComponent(`/settings/${section}`)}`
