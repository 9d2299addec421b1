import { Link } from '@tanstack/react-router'
import { t } from '../shared/text/labels.ts'
import { sections } from './sections.ts'

/** The sections of the administration, shown in the sidebar. */
export const AdminNav = ({ onChoose }: { onChoose: () => void }) => (
  <nav className="conversations section-links admin-nav" aria-label={t('app.admin')}>
    {Object.entries(sections).map(([section, label]) => (
      <Link key={section} to="/admin/$section" params={{ section }} onClick={onChoose}>
        {t(label)}
      </Link>
    ))}
  </nav>
)
